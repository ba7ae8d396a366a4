// The contract of MetadataLog as tests: metadata_log_contract_test.cc has them, every backend
// instantiates them with its maker (INSTANTIATE_TEST_SUITE_P(Sqlite, MetadataLogContract, ...)).
#pragma once
#include "metadata/log/metadata_log.h"
#include "runtime/test_loop.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

namespace weir::metadata {

// One empty log of the backend under test. Dies after its handles.
class LogUnderTest {
 public:
  virtual ~LogUnderTest() = default;
  // Another user of the same log, as another broker would be.
  virtual std::shared_ptr<MetadataLog> open(Clock& clock) = 0;
};

using LogMaker = std::function<std::unique_ptr<LogUnderTest>()>;

class MetadataLogContract : public ::testing::TestWithParam<LogMaker> {
 protected:
  MetadataLogContract() : backend_(GetParam()()), log_(backend_->open(clock_)) {}

  std::shared_ptr<MetadataLog> open() { return backend_->open(clock_); }
  template <typename T>
  T run(Task<T> task) {
    return run_task(loop_, std::move(task));
  }
  // The position of the new entry.
  Position append(MetadataLog& log, std::string_view entry, Position known = 0);
  void snapshot_and_trim(Position upto);
  // Runs the loop, and moves time by milliseconds, until `done` or 2000 rounds. True: done.
  bool settle(const std::function<bool()>& done);

  ManualClock clock_;
  boost::asio::io_context loop_;
  std::unique_ptr<LogUnderTest> backend_;
  std::shared_ptr<MetadataLog> log_;
};

}  // namespace weir::metadata

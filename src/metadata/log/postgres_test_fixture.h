// What the tests of the postgres backend share: the server, a schema of their own, real time.
#pragma once
#include "metadata/log/postgres_log.h"
#include "metadata/log/postgres_test_server.h"
#include "runtime/test_loop.h"

#include <gtest/gtest.h>

#include <map>

namespace weir::metadata {

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresTestServer::available()) {
      GTEST_SKIP() << "Debian's postgresql is not installed: no test of the postgres backend runs";
    }
    server_ = &PostgresTestServer::shared();
    url_ = server_->fresh_url();
  }

  std::unique_ptr<PostgresLog> open() { return open(url_); }
  std::unique_ptr<PostgresLog> open(const std::string& url) {
    auto log = PostgresLog::open(url, clock_, options_);
    if (!log) throw std::runtime_error(log.error().to_string());
    return *std::move(log);
  }
  template <typename T>
  T run(Task<T> task) {
    return run_task(loop, std::move(task));
  }
  Result<Appended> append(MetadataLog& log, const std::string& entry) {
    return run(log.append(Slice::copy_of(entry), 0));
  }
  // Until it succeeds, or for half a minute.
  Position append_at_last(MetadataLog& log, const std::string& entry) {
    const MonoTime end = clock_.now() + std::chrono::seconds(30);
    while (true) {
      auto appended = append(log, entry);
      if (appended) return appended->position;
      if (clock_.now() > end) throw std::runtime_error(appended.error().to_string());
      run_task(loop, clock_.sleep(std::chrono::milliseconds(20)));
    }
  }
  std::map<Position, std::string> entries(MetadataLog& log) {
    std::map<Position, std::string> out;
    Position at = 0;
    while (true) {
      auto read = run(log.read(at, 64_MiB));
      if (!read) throw std::runtime_error(read.error().to_string());
      if (read->empty()) return out;
      for (const LogEntry& entry : *read) {
        EXPECT_EQ(entry.position, ++at);
        out[entry.position] = as_text(entry.bytes.bytes());
      }
    }
  }

  // What fresh_url() made.
  [[nodiscard]] std::string schema() const { return url_.substr(url_.rfind("%3D") + 3); }

  SystemClock clock_;
  // Logs have threads that may be within a call that woke the loop.
  static inline boost::asio::io_context loop;
  PostgresOptions options_{.patience = std::chrono::seconds(1)};
  PostgresTestServer* server_ = nullptr;
  std::string url_;
};

}  // namespace weir::metadata

// For tests: a thread for logs in an object store. It outlives the store.
#pragma once
#include "metadata/log/object_log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

namespace weir::metadata {

class ObjectLogThread {
 public:
  ObjectLogThread() = default;
  ~ObjectLogThread() {
    work_.reset();
    thread_.join();
  }
  ObjectLogThread(const ObjectLogThread&) = delete;
  ObjectLogThread& operator=(const ObjectLogThread&) = delete;

  // The log stops when the last handle goes.
  Result<std::shared_ptr<ObjectLog>> try_open(storage::ObjectStore& store, const std::string& where,
                                              Clock& clock, const ObjectLogOptions& options = {}) {
    WEIR_TRY(auto log, ObjectLog::open(store, where, clock, loop_.get_executor(), options));
    return std::shared_ptr<ObjectLog>(log.release(), [this](ObjectLog* opened) {
      std::promise<void> done;
      boost::asio::co_spawn(loop_, opened->stop(),
                            [&](const std::exception_ptr&) { done.set_value(); });
      done.get_future().wait();
      delete opened;
    });
  }
  // Tries no call again: the tests count them, or have a clock that stands still.
  std::shared_ptr<ObjectLog> open(storage::ObjectStore& store, Clock& clock) {
    auto log = try_open(store, "memory:", clock, {.retries = {.deadline = Duration::zero()}});
    if (!log) throw std::runtime_error(log.error().to_string());
    return *std::move(log);
  }

 private:
  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
      boost::asio::make_work_guard(loop_);
  std::thread thread_{[this] { loop_.run(); }};
};

}  // namespace weir::metadata

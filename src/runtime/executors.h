// The threads of a process: one loop per core for connections, one for the coordinator (it alone
// applies entries), and a few threads for calls that block (files, SQLite). Owned by main; stop()
// ends them all.
#pragma once
#include "runtime/task.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <memory>
#include <thread>
#include <vector>

namespace weir {

class Executors {
 public:
  Executors(std::size_t cores, std::size_t blocking_threads);
  ~Executors();
  Executors(const Executors&) = delete;
  Executors& operator=(const Executors&) = delete;

  [[nodiscard]] std::size_t cores() const { return cores_.size(); }
  // The loop of core `index` < cores(); single-threaded.
  [[nodiscard]] Executor core(std::size_t index) { return cores_[index]->context.get_executor(); }
  // The coordinator's loop; single-threaded.
  [[nodiscard]] Executor coordinator() { return coordinator_->context.get_executor(); }
  // Several threads; for calls that block.
  [[nodiscard]] Executor blocking() { return blocking_.get_executor(); }
  // Ends all loops; what was not finished never is. Called from a thread that is none of these.
  void stop();

 private:
  struct Loop {
    Loop();
    boost::asio::io_context context{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
    std::thread thread;
  };

  std::vector<std::unique_ptr<Loop>> cores_;
  std::unique_ptr<Loop> coordinator_;
  boost::asio::thread_pool blocking_;
};

}  // namespace weir

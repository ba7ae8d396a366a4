// What is to run on one machine, in the order in which it was posted: an execution context of Asio
// for one thread that costs nothing while there is nothing to do. Of an io_context it has no more
// than tasks and posted functions need.
#pragma once
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>

#include <deque>
#include <functional>
#include <utility>

namespace weir::sim {

class RunQueue final : public boost::asio::execution_context {
 public:
  class Handle;

  RunQueue() = default;
  ~RunQueue();
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // For boost::asio::any_io_executor.
  [[nodiscard]] Handle handle();
  // False: there is nothing to run.
  bool run_one();

 private:
  using Function = std::move_only_function<void()>;

  std::deque<Function> functions_;
  bool is_running_ = false;
};

class RunQueue::Handle {
 public:
  explicit Handle(RunQueue& queue) : queue_(&queue) {}

  // The properties that Asio asks for. What may block runs at once when the queue runs already.
  [[nodiscard]] RunQueue& query(boost::asio::execution::context_t) const { return *queue_; }
  [[nodiscard]] boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const {
    using Blocking = boost::asio::execution::blocking_t;
    return may_block_ ? Blocking(Blocking::possibly) : Blocking(Blocking::never);
  }
  [[nodiscard]] Handle require(boost::asio::execution::blocking_t::possibly_t) const {
    return {*queue_, true};
  }
  [[nodiscard]] Handle require(boost::asio::execution::blocking_t::never_t) const {
    return {*queue_, false};
  }
  template <typename F>
  void execute(F&& function) const {
    if (may_block_ && queue_->is_running_) {
      std::decay_t<F> own(std::forward<F>(function));
      own();
    } else {
      queue_->functions_.emplace_back(std::forward<F>(function));
    }
  }
  friend bool operator==(const Handle&, const Handle&) = default;

 private:
  Handle(RunQueue& queue, bool may_block) : queue_(&queue), may_block_(may_block) {}

  RunQueue* queue_;
  bool may_block_ = true;
};

inline RunQueue::Handle RunQueue::handle() { return Handle(*this); }

}  // namespace weir::sim

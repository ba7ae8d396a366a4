// For tests: runs a task to its end on the calling thread and returns its value, and a clock that
// tests move by hand.
#pragma once
#include "runtime/clock.h"
#include "runtime/task.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <map>
#include <mutex>
#include <optional>

namespace weir {

template <typename T>
T run_task(boost::asio::io_context& context, Task<T> task) {
  std::optional<T> result;
  boost::asio::co_spawn(context, std::move(task), [&](std::exception_ptr error, T value) {
    if (error) std::rethrow_exception(error);
    result.emplace(std::move(value));
  });
  context.restart();
  // A suspended task counts as work: the loop blocks until it is resumed from elsewhere.
  while (!result) context.run_one();
  return std::move(*result);
}

inline void run_task(boost::asio::io_context& context, Task<void> task) {
  run_task<bool>(context, [](Task<void> inner) -> Task<bool> {
    co_await std::move(inner);
    co_return true;
  }(std::move(task)));
}

// For tasks that stay on this thread: another thread that resumes the task may still touch the loop
// when this returns. Where there is one, give the form above a loop that outlives it.
template <typename T>
T run_task(Task<T> task) {
  boost::asio::io_context context;
  return run_task(context, std::move(task));
}

// Time stands still until advance(). Callbacks are posted to their executors in order of time.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimestampMs wall_ms = 1'700'000'000'000) : wall_ms_(wall_ms) {}

  [[nodiscard]] TimestampMs wall_ms() const override;
  [[nodiscard]] MonoTime now() const override;
  std::shared_ptr<Timer> call_at(MonoTime when, Executor executor,
                                 std::move_only_function<void()> callback) override;
  void advance(Duration by);
  // Timers set and neither fired nor cancelled.
  [[nodiscard]] std::size_t pending() const;

 private:
  class Entry;

  mutable std::mutex mutex_;
  TimestampMs wall_ms_;
  MonoTime now_{};
  std::multimap<MonoTime, std::shared_ptr<Entry>> timers_;
};

// Runs a task to its end while time passes, step by step. For tasks that stay on this thread.
template <typename T>
T run_in_time(boost::asio::io_context& context, ManualClock& clock, Task<T> task,
              Duration step = std::chrono::milliseconds(10)) {
  std::optional<T> result;
  boost::asio::co_spawn(context, std::move(task), [&](const std::exception_ptr& error, T value) {
    if (error) std::rethrow_exception(error);
    result.emplace(std::move(value));
  });
  constexpr int kSteps = 1'000'000;
  for (int i = 0; i < kSteps && !result; ++i) {
    context.restart();
    context.poll();
    if (!result) clock.advance(step);
  }
  return std::move(result).value();
}

}  // namespace weir

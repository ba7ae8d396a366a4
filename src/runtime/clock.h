// The door to time. Everything that reads a clock, sleeps or sets a timer takes a Clock, so that
// the simulator can own time. Thread-safe. Two clocks are never compared: deadlines use now(),
// records and entries use wall_ms().
#pragma once
#include "base/units.h"
#include "runtime/task.h"

#include <chrono>
#include <functional>
#include <memory>

namespace weir {

// Monotonic time since an arbitrary start of this process.
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// A timer that has been set. Destroying it does not cancel it. Thread-safe.
class Timer {
 public:
  virtual ~Timer() = default;
  // After this the callback is not started any more (it may be running).
  virtual void cancel() = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimestampMs wall_ms() const = 0;
  [[nodiscard]] virtual MonoTime now() const = 0;
  // Runs `callback` on `executor` at `when`, or soon if that is past.
  virtual std::shared_ptr<Timer> call_at(MonoTime when, Executor executor,
                                         std::move_only_function<void()> callback) = 0;

  std::shared_ptr<Timer> call_after(Duration delay, Executor executor,
                                    std::move_only_function<void()> callback) {
    return call_at(now() + delay, std::move(executor), std::move(callback));
  }
  // Resumes on the caller's executor after `delay`.
  Task<void> sleep(Duration delay);
};

// The clock of the machine.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimestampMs wall_ms() const override;
  [[nodiscard]] MonoTime now() const override;
  std::shared_ptr<Timer> call_at(MonoTime when, Executor executor,
                                 std::move_only_function<void()> callback) override;
};

}  // namespace weir

// A deadline that moves often and passes rarely (time-outs of connections): moving it to a later
// moment costs a store, not a timer. Belongs to one executor: every call and the callback happen
// there. Destroying it cancels it.
#pragma once
#include "runtime/clock.h"
#include "runtime/task.h"

#include <functional>
#include <memory>
#include <optional>

namespace weir {

class LazyDeadline {
 public:
  // `passed` is called each time the deadline passes; there is none afterwards until the next
  // set().
  LazyDeadline(Clock& clock, Executor executor, std::move_only_function<void()> passed);
  ~LazyDeadline();
  LazyDeadline(const LazyDeadline&) = delete;
  LazyDeadline& operator=(const LazyDeadline&) = delete;

  void set(MonoTime when);
  void clear();

 private:
  struct State;
  static void arm(const std::shared_ptr<State>& state, MonoTime when);
  static void fire(const std::shared_ptr<State>& state);

  // Shared with the timer, which may fire after the deadline is gone.
  std::shared_ptr<State> state_;
};

}  // namespace weir

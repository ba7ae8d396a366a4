#include "runtime/lazy_deadline.h"

namespace weir {

struct LazyDeadline::State {
  Clock& clock;
  Executor executor;
  std::move_only_function<void()> passed;
  std::optional<MonoTime> deadline;
  // The timer that is set, never later than the deadline.
  std::shared_ptr<Timer> timer;
  MonoTime fires_at;
};

LazyDeadline::LazyDeadline(Clock& clock, Executor executor, std::move_only_function<void()> passed)
    : state_(std::make_shared<State>(
          State{clock, std::move(executor), std::move(passed), {}, {}, {}})) {}

LazyDeadline::~LazyDeadline() {
  clear();
  if (state_->timer) state_->timer->cancel();
  // The timer's callback holds the state: not both each other.
  state_->timer.reset();
  state_->passed = nullptr;
}

void LazyDeadline::set(MonoTime when) {
  state_->deadline = when;
  if (!state_->timer || when < state_->fires_at) arm(state_, when);
}

void LazyDeadline::clear() { state_->deadline.reset(); }

void LazyDeadline::arm(const std::shared_ptr<State>& state, MonoTime when) {
  if (state->timer) state->timer->cancel();
  state->fires_at = when;
  state->timer = state->clock.call_at(when, state->executor, [state] { fire(state); });
}

void LazyDeadline::fire(const std::shared_ptr<State>& state) {
  state->timer.reset();
  if (!state->deadline) return;
  if (state->clock.now() < *state->deadline) {
    arm(state, *state->deadline);
    return;
  }
  state->deadline.reset();
  state->passed();
}

}  // namespace weir

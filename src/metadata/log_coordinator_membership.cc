// The coordinator among the others: that it shows itself, and fences who does not.
#include "metadata/log_coordinator.h"
#include "runtime/log.h"

namespace weir::metadata {

Task<void> LogCoordinator::keep_membership() {
  while (!group_.stopping() && !replayer_.failure()) {
    MonoTime due = membership_.next(clock_.now());
    if (!co_await group_.sleep(clock_, due - clock_.now())) co_return;
    membership_.woke(due, clock_.now());
    if (epoch_ < 0 || leaving_) continue;
    if (membership_.heartbeat_due(clock_.now())) {
      MonoTime sent = clock_.now();
      std::ignore = co_await submit(Heartbeat{});
      // A log that hangs, hangs for the others, too.
      membership_.woke(sent, clock_.now());
    }
    if (!membership_.silent(clock_.now()).empty()) co_await fence_silent();
  }
}

// Whoever seems silent may have appended what was not read here yet, and nobody could append while
// the log was down.
Task<void> LogCoordinator::fence_silent() {
  MonoTime asked = clock_.now();
  Status caught_up = co_await catch_up();
  membership_.woke(asked, clock_.now());
  if (!caught_up) {
    membership_.was_blind(clock_.now());
    co_return;
  }
  if (auto end = appender_.last_outage_end()) membership_.log_came_back(*end);
  for (const FenceBroker& silent : membership_.silent(clock_.now())) {
    if (epoch_ < 0 || leaving_) co_return;
    log::warn("metadata.broker.silent", {{"broker", silent.broker_id}, {"epoch", silent.epoch}});
    std::ignore = co_await submit(silent);
  }
}

}  // namespace weir::metadata

// Deletes objects that no extent names any more, after a grace period longer than the longest read,
// and then forgets them in the metadata log. The grace period is measured by the monotonic clock of
// this process, from when it has seen that no extent is left: so it begins anew with a start, and
// no wall clock that is wrong shortens or lengthens it. Only while the log answers and holds the
// history that says so: one that is about to be put back to a copy may need them again, and does
// not if the copy is younger than the grace period. Two brokers that do it at the same time waste
// work, no more. Owned by main.
#pragma once
#include "metadata/coordinator.h"
#include "runtime/clock.h"
#include "runtime/metrics.h"
#include "runtime/task_group.h"
#include "storage/object_store.h"

#include <deque>

namespace weir::compaction {

class ObjectDeleter {
 public:
  ObjectDeleter(metadata::Coordinator& coordinator, storage::ObjectStore& store, Clock& clock,
                Duration grace, MetricsRegistry& metrics);

  // Takes note of what can be deleted a grace period from now. Every broker does it, so that
  // another can go on when the one that deletes is gone.
  void look();
  [[nodiscard]] std::size_t remembered() const { return seen_.size(); }
  // One pass over at most kBatch objects. How many were deleted.
  Task<Result<std::size_t>> run_once();
  // Passes until the group stops, while `self` is the broker of the cluster that does it.
  Task<void> run(TaskGroup& group, Duration interval, BrokerId self);

  static constexpr std::size_t kBatch = 1000;

 private:
  // Of what was seen, the latest that is old enough comes to the front.
  void forget_old();

  // What was applied here at a time.
  struct Seen {
    MonoTime when;
    metadata::Position applied = 0;
  };
  // So many in one grace period, at most, and one before it.
  static constexpr int kMostSeen = 64;

  metadata::Coordinator& coordinator_;
  storage::ObjectStore& store_;
  Clock& clock_;
  Duration grace_;
  Counter& deleted_;
  Counter& deleted_bytes_;
  std::deque<Seen> seen_;  // the oldest first
};

}  // namespace weir::compaction

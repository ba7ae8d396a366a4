// Deletes objects that no extent names any more, after a grace period longer than the longest read,
// and then forgets them in the metadata log. Only while the log answers and holds the history that
// says so: one that is about to be put back to a copy may need them again, and does not if the copy
// is younger than the grace period. Two brokers that do it at the same time waste work, no more.
// Owned by main.
#pragma once
#include "metadata/coordinator.h"
#include "runtime/clock.h"
#include "runtime/metrics.h"
#include "runtime/task_group.h"
#include "storage/object_store.h"

namespace weir::compaction {

class ObjectDeleter {
 public:
  ObjectDeleter(metadata::Coordinator& coordinator, storage::ObjectStore& store, Clock& clock,
                Duration grace, MetricsRegistry& metrics);

  // One pass over at most kBatch objects. How many were deleted.
  Task<Result<std::size_t>> run_once();
  // Passes until the group stops, while `self` is the broker of the cluster that does it.
  Task<void> run(TaskGroup& group, Duration interval, BrokerId self);

  static constexpr std::size_t kBatch = 1000;

 private:
  metadata::Coordinator& coordinator_;
  storage::ObjectStore& store_;
  Clock& clock_;
  Duration grace_;
  Counter& deleted_;
  Counter& deleted_bytes_;
};

}  // namespace weir::compaction

// Removes orphans: objects that were uploaded by a broker whose epoch ended before it committed
// them. Since the entries of an ended epoch are refused, nobody can ever commit them. They are
// found by listing the store; an object that the state does not know, of an epoch that it knows to
// be over, is an orphan. What a live broker could not commit it removes itself
// (produce/write_pipeline.h).
//
// A grace period lets people look at what a lost history left behind. Objects that say in their
// footer that they belong to another cluster are left and reported. One broker of the cluster does
// this, the rendezvous owner; two at the same time waste work, no more. Owned by main.
#pragma once
#include "metadata/coordinator.h"
#include "runtime/clock.h"
#include "runtime/metrics.h"
#include "runtime/task_group.h"
#include "storage/object_store.h"

namespace weir::compaction {

struct OrphanSweepOptions {
  BrokerId self = -1;
  Uuid cluster_id;
  // Younger objects, by the times of the store and of this machine, are left for the next pass.
  Duration grace = std::chrono::hours(24);
};

class OrphanSweep {
 public:
  OrphanSweep(metadata::Coordinator& coordinator, storage::ObjectStore& store, Clock& clock,
              OrphanSweepOptions options, MetricsRegistry& metrics);

  // One pass over all objects, until the group stops. How many were removed; 0 where another broker
  // does it.
  Task<Result<std::size_t>> run_once(const TaskGroup& group);
  // Passes until the group stops.
  Task<void> run(TaskGroup& group, Duration interval);

 private:
  [[nodiscard]] bool is_mine() const;
  Task<Result<std::size_t>> sweep(const std::vector<storage::ObjectInfo>& listed);
  Task<bool> is_of_this_cluster(const storage::ObjectInfo& object);

  metadata::Coordinator& coordinator_;
  storage::ObjectStore& store_;
  Clock& clock_;
  const OrphanSweepOptions options_;
  Counter& removed_;
  Counter& removed_bytes_;
  Counter& foreign_;
};

}  // namespace weir::compaction

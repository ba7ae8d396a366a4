// The snapshots of a run: damages the latest one now and then, where those before it can replace
// it, and looks whether there is always one to start from. Owned by the simulation. Not for a log
// in the store, whose latest snapshot only brokers know.
#pragma once
#include "metadata/snapshot_store.h"
#include "runtime/rng.h"
#include "sim/witness.h"

#include <set>
#include <string>

namespace weir::sim {

class SnapshotCare {
 public:
  SnapshotCare(World& world, storage::ObjectStore& store, metadata::MetadataLog& log,
               const Witness& witness, Executor executor)
      : world_(world),
        store_(store),
        log_(log),
        witness_(witness),
        executor_(std::move(executor)),
        snapshots_(store, log),
        rng_(world.fork()) {}

  // Parts that the next snapshot may share stay whole: brokers do not read again what they wrote.
  Task<void> damage_latest();
  // What is wrong with the snapshots, or nothing.
  Task<std::string> trouble();

 private:
  Task<bool> can_replace_latest(const metadata::SnapshotRef& latest);
  Task<void> damage(const std::string& key);

  World& world_;
  storage::ObjectStore& store_;
  metadata::MetadataLog& log_;
  const Witness& witness_;
  Executor executor_;
  metadata::SnapshotStore snapshots_;
  Rng rng_;
  std::set<std::string> damaged_;  // manifests
};

}  // namespace weir::sim

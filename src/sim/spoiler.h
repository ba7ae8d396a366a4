// Breaks things, by the faults that the weather has: kills, pauses, outages, cut ways, and clocks
// that are set wrong, snapshots that rot. Owned by the simulation.
#pragma once
#include "sim/faults.h"
#include "sim/sim_broker.h"
#include "sim/snapshot_care.h"

namespace weir::sim {

// No clock is set further off than that, but for a while by far clock jumps.
constexpr Duration kMostClockError = std::chrono::seconds(5);
// Ahead or behind. Less than what is kept for a day, as producers are, could tell two of them
// apart.
constexpr Duration kFarClockError = std::chrono::hours(10);

class Spoiler {
 public:
  // `snapshots`: null: they are left alone.
  Spoiler(World& world, Weather& weather, Machine& nature, std::vector<SimNode*> nodes,
          SnapshotCare* snapshots)
      : world_(world),
        weather_(weather),
        nature_(nature),
        nodes_(std::move(nodes)),
        snapshots_(snapshots),
        rng_(world.fork()) {}

  void start();
  void stop() { tasks_.stop(); }
  [[nodiscard]] bool done() const { return tasks_.running() == 0; }

 private:
  Task<void> kill_nodes();
  Task<void> pause_nodes();
  Task<void> break_services();
  Task<void> cut_ways();
  Task<void> move_clocks();
  Task<void> move_clocks_far();
  Task<void> damage_snapshots();
  // False: it is over, or there are no such faults.
  Task<bool> wait(Duration mean);
  SimNode& any_node() { return *nodes_[rng_.below(nodes_.size())]; }

  World& world_;
  Weather& weather_;
  Machine& nature_;
  std::vector<SimNode*> nodes_;
  SnapshotCare* snapshots_;
  Rng rng_;
  TaskGroup tasks_;
};

}  // namespace weir::sim

// One run: a cluster and its clients, a time with faults, a time without in which everything must
// become well again, and the verdict.
#pragma once
#include "sim/history.h"

#include <cstdint>
#include <vector>

namespace weir::sim {

struct SimulationOptions {
  std::uint64_t seed = 1;
  int brokers = 3;
  int idempotent_producers = 4;
  int plain_producers = 2;
  int consumers = 3;
  std::int32_t partitions = 4;
  // How long there are faults; virtual.
  std::int64_t seconds = 60;
};

struct SimulationResult {
  std::vector<Violation> violations;
  std::uint64_t hash = 0;  // of all events: equal for equal options
  std::uint64_t events = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t read = 0;
  double virtual_seconds = 0;
};

[[nodiscard]] SimulationResult simulate(const SimulationOptions& options);

}  // namespace weir::sim

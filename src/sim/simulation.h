// One run: a cluster and its clients, a time with faults, a time without in which everything must
// become well again, and the verdict.
#pragma once
#include "sim/history.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::sim {

struct SimulationOptions {
  std::uint64_t seed = 1;
  int brokers = 3;
  // Twenty-one clients.
  int idempotent_producers = 5;
  int plain_producers = 2;
  int silent_producers = 1;  // with acks=0
  int consumers = 3;
  int groups = 2;
  int members = 4;  // of each group
  int admins = 2;
  std::int32_t partitions = 3;  // of each topic
  bool log_in_store = false;    // the metadata log lies in the object store
  // How long there are faults; virtual.
  std::int64_t seconds = 60;
  // What to keep the last events of (World::trace()).
  std::optional<std::string> trace;
};

struct SimulationResult {
  std::vector<Violation> violations;
  std::uint64_t hash = 0;  // of all events: equal for equal options
  std::uint64_t events = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t read = 0;
  std::uint64_t deleted = 0;
  std::uint64_t commits = 0;
  std::uint64_t rebalances = 0;
  double virtual_seconds = 0;
  std::optional<double> violated_at;  // virtual seconds, of the first violation
  std::vector<std::string> trace;
};

[[nodiscard]] SimulationResult simulate(const SimulationOptions& options);

}  // namespace weir::sim

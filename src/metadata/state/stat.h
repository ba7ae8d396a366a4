// What there is in a state, in numbers: for `weir metadata stat`, for comparing brokers, and for
// metrics.
#pragma once
#include "metadata/state/state.h"

#include <cstdint>
#include <string>

namespace weir::metadata {

struct MetadataStat {
  Position position = 0;
  std::uint64_t chain_hash = 0;
  std::uint64_t state_hash = 0;  // equal on all brokers at this position
  Uuid cluster_id;
  TimestampMs time = 0;
  std::size_t brokers = 0;  // live ones
  std::size_t topics = 0;
  std::size_t partitions = 0;
  std::size_t extents = 0;
  std::size_t producers = 0;
  ByteCount live_bytes = 0;
  std::size_t objects = 0;
  std::size_t deletable_objects = 0;
  std::size_t groups = 0;
  std::size_t committed_offsets = 0;
  bool operator==(const MetadataStat&) const = default;
};

// Looks at every partition and group: milliseconds for ten thousand of them.
[[nodiscard]] MetadataStat stat_of(const State& state);

// One JSON object.
[[nodiscard]] std::string to_json(const MetadataStat& stat);

}  // namespace weir::metadata

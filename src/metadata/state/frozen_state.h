// A picture of the state at one position, taken within milliseconds: it shares its memory with the
// state, which copies what it then changes. Immutable; any thread may read it.
#pragma once
#include "metadata/state/group_table.h"
#include "metadata/state/object_table.h"
#include "metadata/state/state.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::metadata {

struct FrozenPartition {
  TopicPartition name;
  std::uint64_t name_hash = 0;
  Position changed = 0;  // the position of the last entry that changed it
  Offset log_start = 0;
  Offset high_watermark = 0;
  ExtentsView extents;
  ProducerTable producers;
};

struct FrozenState {
  Position position = 0;
  std::uint64_t chain_hash = 0;
  std::uint64_t state_hash = 0;
  Uuid cluster_id;
  TimestampMs time = 0;
  ProducerId next_producer_id = 0;
  LeaderEpoch membership = -1;
  std::map<std::string, std::int16_t> features;
  std::map<BrokerId, BrokerState> brokers;
  std::map<ConfigResource, ConfigMap> configs;
  CowMap<TopicId, std::shared_ptr<const TopicImage>> topics;
  std::vector<FrozenPartition> partitions;  // in no order
  ObjectTable::Objects objects;
  GroupTable::Groups groups;
};

// On the coordinator's thread.
[[nodiscard]] FrozenState freeze(const State& state);

}  // namespace weir::metadata

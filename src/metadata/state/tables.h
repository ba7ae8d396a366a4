// All of the state: what applying the log up to a position gives. The coordinator's thread alone
// uses it.
#pragma once
#include "base/ids.h"
#include "base/units.h"
#include "base/uuid.h"
#include "metadata/state/group_table.h"
#include "metadata/state/image.h"
#include "metadata/state/object_table.h"
#include "metadata/state/topic_table.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weir::metadata {

// The last registration of a broker id.
struct BrokerState {
  BrokerImage image;
  bool fenced = false;
  std::int64_t last_sequence = -1;  // of the records of its epoch that were applied
  Position last_position = 0;       // of its last record
};

struct Tables {
  Uuid cluster_id;
  TimestampMs time = 0;  // of the last record that had an effect, see State
  ProducerId next_producer_id = 0;
  LeaderEpoch membership = -1;  // grows by one with each change of the live brokers, from 0
  std::map<std::string, std::int16_t> features;
  std::map<BrokerId, BrokerState> brokers;
  std::map<ConfigResource, ConfigMap> configs;
  TopicTable topics;
  ObjectTable objects;
  GroupTable groups;

  // The level of the log that was agreed on, and the greatest that all live brokers know (the
  // greatest there is, when there are none). metadata_level.h.
  [[nodiscard]] std::int16_t metadata_level() const;
  [[nodiscard]] std::int16_t common_metadata_level() const;

  // Covers everything above.
  [[nodiscard]] std::uint64_t hash() const;
  [[nodiscard]] std::uint64_t hash_without_partitions() const;
  [[nodiscard]] ClusterImage image() const;
};

// Of `ids`, those of objects that are not known and never will be, by the tables at `position`:
// their epoch has ended. Epochs after the position are not known to have.
[[nodiscard]] std::vector<ObjectId> orphans_among(const Tables& tables, Position position,
                                                  const std::vector<ObjectId>& ids);

}  // namespace weir::metadata

// What readers on any thread see of the cluster and of the consumer groups: immutable images,
// published by the coordinator after each entry that changed them. Hold the shared_ptr for as long
// as a consistent picture is needed, not for ever.
#pragma once
#include "base/ids.h"
#include "base/units.h"
#include "base/uuid.h"
#include "metadata/state/commands.h"
#include "metadata/state/cow.h"
#include "metadata/state/cow_map.h"
#include "metadata/state/partition_cell.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::metadata {

// Configuration names and values as they were set; what is not set has the default.
using ConfigMap = std::map<std::string, std::string, std::less<>>;

struct TopicImage {
  TopicId id;
  std::string name;
  ConfigMap configs;
  std::int16_t replication_factor = 1;  // as asked for; the object store replicates
  std::vector<std::shared_ptr<PartitionCell>> partitions;

  [[nodiscard]] std::int32_t partition_count() const {
    return static_cast<std::int32_t>(partitions.size());
  }
  // Null when the topic has no such partition.
  [[nodiscard]] const PartitionCell* partition(PartitionIndex index) const {
    return index >= 0 && index < partition_count()
               ? partitions[static_cast<std::size_t>(index)].get()
               : nullptr;
  }
};

struct BrokerImage {
  BrokerId id = -1;
  BrokerEpoch epoch = -1;
  Uuid incarnation;
  std::vector<Endpoint> endpoints;
  std::string rack;                 // empty: none
  std::int16_t metadata_level = 0;  // the greatest that it knows (metadata_level.h)
};

// Names what a dynamic configuration belongs to, other than topics: BROKER "1", BROKER "" (all
// brokers), GROUP "g", …
struct ConfigResource {
  ConfigResourceType type = ConfigResourceType::kBroker;
  std::string name;
  auto operator<=>(const ConfigResource&) const = default;
};

struct ClusterImage {
  Uuid cluster_id;
  std::map<BrokerId, BrokerImage> brokers;  // the live ones
  // Grows by one with each change of them: what is derived from the live brokers alone, leaders for
  // one, has it as its epoch.
  LeaderEpoch membership = -1;
  CowMap<std::string, std::shared_ptr<const TopicImage>> topics_by_name;
  CowMap<TopicId, std::shared_ptr<const TopicImage>> topics_by_id;
  std::map<ConfigResource, ConfigMap> configs;
  std::map<std::string, std::int16_t> features;

  // Null when there is no such topic.
  [[nodiscard]] std::shared_ptr<const TopicImage> topic(std::string_view name) const {
    const auto* found = topics_by_name.find(name);
    return found == nullptr ? nullptr : *found;
  }
  [[nodiscard]] std::shared_ptr<const TopicImage> topic(const TopicId& id) const {
    const auto* found = topics_by_id.find(id);
    return found == nullptr ? nullptr : *found;
  }
};

struct CommittedOffset {
  Offset offset = 0;
  LeaderEpoch leader_epoch = -1;
  TimestampMs commit_time = 0;
  TimestampMs expire_time = kNoTimestamp;  // -1: by the group's rules
  std::string metadata;
  bool operator==(const CommittedOffset&) const = default;
};

struct GroupImage {
  std::string id;
  // The broker that coordinates the group, and the position of its claim: commands of the group
  // carry it and are refused with NOT_COORDINATOR after another claim. -1: claimed by nobody yet.
  BrokerId owner = -1;
  Position claim = -1;
  std::string protocol_type;
  std::int32_t generation = 0;
  std::string protocol;
  std::string leader;
  CowPtr<std::vector<GroupMember>> members;  // never null
  TimestampMs state_time = 0;  // of the last GroupCommit: since then an empty group is empty
  CowMap<TopicPartition, CommittedOffset> offsets;
};

}  // namespace weir::metadata

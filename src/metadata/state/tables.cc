#include "metadata/state/tables.h"

#include "metadata/state/item_hash.h"
#include "metadata/state/metadata_level.h"

#include <algorithm>
#include <limits>
#include <set>

namespace weir::metadata {
namespace {

std::uint64_t hash_of(const BrokerState& broker) {
  const BrokerImage& image = broker.image;
  ItemWriter item;
  item.number(image.id).number(image.epoch).text(image.rack).number(broker.fenced);
  item.number(static_cast<std::int64_t>(image.incarnation.high))
      .number(static_cast<std::int64_t>(image.incarnation.low));
  item.number(broker.last_sequence).number(broker.last_position).number(image.metadata_level);
  for (const Endpoint& endpoint : image.endpoints) {
    item.text(endpoint.listener).text(endpoint.host).number(endpoint.port).text(endpoint.protocol);
  }
  return item.hash(ItemKind::kBroker);
}

std::uint64_t hash_of(const ConfigResource& resource, const ConfigMap& configs) {
  ItemWriter item;
  item.number(static_cast<std::int64_t>(resource.type)).text(resource.name);
  for (const auto& [name, value] : configs) item.text(name).text(value);
  return item.hash(ItemKind::kConfig);
}

}  // namespace

std::uint64_t Tables::hash() const {
  std::uint64_t sum = hash_without_partitions();
  // A sum: the order of the topics does not matter.
  for (const auto& [id, topic] : topics.topics()) {
    for (const PartitionState& partition : topic.partitions) sum += partition.hash();
  }
  return sum;
}

std::int16_t Tables::metadata_level() const {
  const auto found = features.find(std::string(kMetadataFeature));
  return found == features.end() ? std::int16_t{0} : found->second;
}

std::int16_t Tables::common_metadata_level() const {
  std::int16_t level = std::numeric_limits<std::int16_t>::max();
  for (const auto& [id, broker] : brokers) {
    if (!broker.fenced) level = std::min(level, broker.image.metadata_level);
  }
  return level;
}

std::uint64_t Tables::hash_without_partitions() const {
  std::uint64_t sum = topics.hash() + objects.hash() + groups.hash();
  for (const auto& [id, broker] : brokers) sum += hash_of(broker);
  for (const auto& [resource, values] : configs) sum += hash_of(resource, values);
  for (const auto& [name, level] : features)
    sum += ItemWriter().text(name).number(level).hash(ItemKind::kFeature);
  return sum + ItemWriter()
                   .number(static_cast<std::int64_t>(cluster_id.high))
                   .number(static_cast<std::int64_t>(cluster_id.low))
                   .number(time)
                   .number(next_producer_id)
                   .number(membership)
                   .hash(ItemKind::kCluster);
}

ClusterImage Tables::image() const {
  ClusterImage image;
  image.cluster_id = cluster_id;
  image.membership = membership;
  for (const auto& [id, broker] : brokers) {
    if (!broker.fenced) image.brokers.emplace(id, broker.image);
  }
  topics.show_in(image);
  image.configs = configs;
  image.features = features;
  return image;
}

std::vector<ObjectId> orphans_among(const Tables& tables, Position position,
                                    const std::vector<ObjectId>& ids) {
  std::set<BrokerEpoch> live;
  for (const auto& [id, broker] : tables.brokers) {
    if (!broker.fenced) live.insert(broker.image.epoch);
  }
  std::vector<ObjectId> out;
  for (const ObjectId& id : ids) {
    bool is_over = id.epoch <= position && !live.contains(id.epoch);
    if (is_over && tables.objects.objects().find(id) == nullptr) out.push_back(id);
  }
  return out;
}

}  // namespace weir::metadata

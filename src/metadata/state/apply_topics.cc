// Topics and configurations.
#include "metadata/state/apply.h"

namespace weir::metadata {

using kafka::KafkaError;

namespace {

// A limit of the state's own, far above what brokers allow: an entry must not make every broker run
// out of memory.
constexpr std::int32_t kMaxPartitions = 1'000'000;
constexpr std::size_t kMaxNameBytes = 249;

ConfigMap to_map(const std::vector<ConfigEntry>& entries) {
  ConfigMap map;
  for (const ConfigEntry& entry : entries) map[entry.name] = entry.value;
  return map;
}

KafkaError check(Tables& tables, const NewTopic& topic) {
  if (topic.name.empty() || topic.name.size() > kMaxNameBytes)
    return KafkaError::kInvalidTopicException;
  if (tables.topics.find(std::string_view(topic.name)) != nullptr)
    return KafkaError::kTopicAlreadyExists;
  if (tables.topics.collides(topic.name)) return KafkaError::kInvalidTopicException;
  if (topic.partitions < 1 || topic.partitions > kMaxPartitions)
    return KafkaError::kInvalidPartitions;
  if (topic.id.is_zero() || tables.topics.find(topic.id) != nullptr)
    return KafkaError::kInvalidRequest;
  return KafkaError::kNone;
}

void apply_to(ConfigMap& configs, const AlterConfigs& command) {
  if (command.replace) configs.clear();
  for (const std::string& name : command.deletes) configs.erase(name);
  for (const ConfigEntry& entry : command.sets) configs[entry.name] = entry.value;
}

}  // namespace

CommandResult apply(Tables& tables, ApplyContext& context, const CreateTopics& command) {
  CommandResult result;
  for (const NewTopic& topic : command.topics) {
    KafkaError error = check(tables, topic);
    result.items.push_back({.error = error});
    if (error != KafkaError::kNone) continue;
    TopicImage image{.id = topic.id,
                     .name = topic.name,
                     .configs = to_map(topic.configs),
                     .replication_factor = topic.replication_factor};
    tables.topics.add_partitions(tables.topics.add(std::move(image)), topic.partitions,
                                 context.position);
    context.changes.image = true;
  }
  return result;
}

CommandResult apply(Tables& tables, ApplyContext& context, const DeleteTopics& command) {
  CommandResult result;
  for (const TopicId& id : command.topics) {
    TopicState* topic = tables.topics.find(id);
    result.items.push_back(
        {.error = topic == nullptr ? KafkaError::kUnknownTopicId : KafkaError::kNone});
    if (topic == nullptr) continue;
    PartitionIndex index = 0;
    for (PartitionState& partition : topic->partitions) {
      partition.remove(tables.objects, context.position);
      if (partition.mark_dirty()) context.changes.partitions.push_back({{id, index}, &partition});
      ++index;
    }
    context.changes.removed.push_back(tables.topics.remove(id));
    for (std::string& group : tables.groups.erase_topic(id))
      context.changes.offsets.push_back(std::move(group));
    context.changes.image = true;
  }
  return result;
}

CommandResult apply(Tables& tables, ApplyContext& context, const CreatePartitions& command) {
  TopicState* topic = tables.topics.find(command.topic);
  if (topic == nullptr) return {.error = KafkaError::kUnknownTopicOrPartition};
  std::int32_t now = topic->image->partition_count();
  if (command.count <= now || command.count > kMaxPartitions)
    return {.error = KafkaError::kInvalidPartitions};
  tables.topics.add_partitions(*topic, command.count - now, context.position);
  context.changes.image = true;
  return {};
}

CommandResult apply(Tables& tables, ApplyContext& context, const AlterConfigs& command) {
  context.changes.image = true;
  if (command.type == ConfigResourceType::kTopic) {
    TopicState* topic = tables.topics.find(std::string_view(command.name));
    if (topic == nullptr) return {.error = KafkaError::kUnknownTopicOrPartition};
    ConfigMap configs = topic->image->configs;
    apply_to(configs, command);
    tables.topics.set_configs(*topic, std::move(configs));
    return {};
  }
  ConfigResource resource{command.type, command.name};
  ConfigMap& configs = tables.configs[resource];
  apply_to(configs, command);
  if (configs.empty()) tables.configs.erase(resource);
  return {};
}

}  // namespace weir::metadata

#include "broker/config_resources.h"

#include "broker/configs.h"
#include "broker/submit.h"
#include "broker/topic_admin.h"
#include "config/alter.h"
#include "config/group_config.h"
#include "kafka/error_map.h"

#include <fmt/format.h>

namespace weir::broker {
namespace {

using config::Checked;
using config::Rejection;
using config::Settings;
using kafka::KafkaError;
using metadata::ConfigResourceType;

Settings dynamic_settings(const metadata::ClusterImage& image, ConfigResourceType type,
                          const std::string& name) {
  auto at = image.configs.find({type, name});
  return at == image.configs.end() ? Settings{} : at->second;
}

Checked<ResourceSettings> find_topic(const metadata::ClusterImage& image, const std::string& name) {
  if (TopicOutcome named = check_topic_name(name); named.error != KafkaError::kNone) {
    return std::unexpected(Rejection{.error = named.error, .message = named.message});
  }
  auto topic = image.topic(name);
  if (!topic) {
    return std::unexpected(Rejection{.error = KafkaError::kUnknownTopicOrPartition,
                                     .message = fmt::format("there is no topic '{}'", name)});
  }
  return ResourceSettings{
      .type = ConfigResourceType::kTopic, .name = name, .settings = topic->configs};
}

Checked<ResourceSettings> find_broker(const Broker& broker, const metadata::ClusterImage& image,
                                      const std::string& name) {
  if (!name.empty() && name != std::to_string(broker.node_id)) {
    return config::invalid_request(
        fmt::format("this is broker {}: it answers for itself (\"{}\") and for all brokers (\"\"), "
                    "not for \"{}\"",
                    broker.node_id, broker.node_id, name));
  }
  return ResourceSettings{.type = ConfigResourceType::kBroker,
                          .name = name,
                          .settings = dynamic_settings(image, ConfigResourceType::kBroker, name)};
}

Checked<void> validate(Broker& broker, std::size_t core, const ResourceSettings& resource,
                       const Settings& proposed) {
  const auto state = broker.configs.current(core);
  switch (resource.type) {
    case ConfigResourceType::kTopic:
      return config::validate_topic_configs(proposed, state->layers);
    case ConfigResourceType::kGroup:
      return config::validate_group_configs(proposed, state->layers);
    case ConfigResourceType::kBroker: {
      auto target = resource.name.empty() ? config::DynamicTarget::kClusterDefault
                                          : config::DynamicTarget::kBroker;
      return config::validate_dynamic_configs(
          target, proposed, state->layers, broker.configs.machine(), broker.configs.permissions());
    }
    case ConfigResourceType::kClientMetrics:
      break;
  }
  return config::invalid_request("this resource has no configuration here");
}

// What to set and what to delete so that `before` becomes `after`.
metadata::AlterConfigs difference(const ResourceSettings& resource, const Settings& after) {
  metadata::AlterConfigs command{
      .type = resource.type, .name = resource.name, .sets = {}, .deletes = {}};
  for (const auto& [name, value] : after) {
    auto at = resource.settings.find(name);
    if (at == resource.settings.end() || at->second != value)
      command.sets.push_back({.name = name, .value = value});
  }
  for (const auto& [name, value] : resource.settings) {
    if (!after.contains(name)) command.deletes.push_back(name);
  }
  return command;
}

}  // namespace

Checked<ResourceSettings> find_resource(Broker& broker, std::int8_t type, const std::string& name) {
  auto image = broker.coordinator.image();
  switch (static_cast<ConfigResourceType>(type)) {
    case ConfigResourceType::kTopic:
      return find_topic(*image, name);
    case ConfigResourceType::kBroker:
      return find_broker(broker, *image, name);
    case ConfigResourceType::kGroup:
      if (name.empty()) return config::invalid_request("the name of the group is missing");
      return ResourceSettings{
          .type = ConfigResourceType::kGroup,
          .name = name,
          .settings = dynamic_settings(*image, ConfigResourceType::kGroup, name)};
    case ConfigResourceType::kClientMetrics:
      break;
  }
  return config::invalid_request(
      fmt::format("resources of type {} have no configuration here: ask for topics (2), brokers "
                  "(4) or groups (32)",
                  type));
}

Task<Checked<void>> change_settings(Broker& broker, std::size_t core, ResourceSettings resource,
                                    Settings proposed, bool validate_only) {
  if (auto valid = validate(broker, core, resource, proposed); !valid) co_return valid;
  metadata::AlterConfigs command = difference(resource, proposed);
  bool is_same = command.sets.empty() && command.deletes.empty();
  if (validate_only || is_same) co_return Checked<void>{};
  auto applied = co_await submit_within(broker, std::move(command), kDefaultWait);
  if (!applied) {
    co_return std::unexpected(Rejection{.error = kafka::admin_error(applied.error().code),
                                        .message = applied.error().to_string()});
  }
  if (applied->error != KafkaError::kNone) {
    co_return std::unexpected(
        Rejection{.error = applied->error, .message = "the resource was deleted at the same time"});
  }
  co_return Checked<void>{};
}

}  // namespace weir::broker

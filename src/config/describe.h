// What DescribeConfigs says of a resource: every key with its value, where that comes from, and the
// layers below it (kafka-clients call them synonyms). Follows Kafka: the order of layers, internal
// keys only where they are set, no value of a password. Pure functions; entries are in the order of
// their names.
#pragma once
#include "config/layers.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// The numbers of the protocol.
enum class ConfigSource : std::int8_t {
  kDynamicTopic = 1,
  kDynamicBroker = 2,
  kDynamicDefaultBroker = 3,
  kStaticBroker = 4,
  kDefault = 5,
  kDynamicBrokerLogger = 6,
  kClientMetrics = 7,
  kGroup = 8,
};

struct ConfigSynonym {
  std::string_view name;  // of the table
  std::optional<std::string> value;
  ConfigSource source = ConfigSource::kDefault;
};

struct ConfigEntry {
  const ConfigKey* key = nullptr;  // name, type, documentation
  std::optional<std::string> value;
  ConfigSource source = ConfigSource::kDefault;
  bool read_only = false;
  bool sensitive = false;
  // The strongest first. A topic's or group's own override is among them.
  std::vector<ConfigSynonym> synonyms;

  // For version 0 of the answer.
  [[nodiscard]] bool is_default() const { return source == ConfigSource::kDefault; }
};

[[nodiscard]] std::vector<ConfigEntry> describe_topic(const Settings& overrides,
                                                      const BrokerLayers& layers);
[[nodiscard]] std::vector<ConfigEntry> describe_group(const Settings& overrides,
                                                      const BrokerLayers& layers);
[[nodiscard]] std::vector<ConfigEntry> describe_broker(const BrokerLayers& layers);
// The resource with the empty name: what was set for all brokers while they ran, and nothing else.
[[nodiscard]] std::vector<ConfigEntry> describe_cluster_default(const BrokerLayers& layers);

// The documentation text of an entry: what the key does, and what differs here.
[[nodiscard]] std::string documentation(const ConfigKey& key);

}  // namespace weir::config

// The layers of a broker's configuration, the stronger first: what was set for this broker while it
// ran, what was set for all brokers while they ran, what it was started with, the defaults. Kafka's
// rules; DescribeConfigs shows them as sources. A value: a change of the dynamic layers makes a new
// one. Thread-compatible.
#pragma once
#include "base/error.h"
#include "config/keys.h"
#include "config/sources.h"
#include "config/value.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir::config {

// Keys and their texts as they were set.
using Settings = std::map<std::string, std::string, std::less<>>;

struct BrokerLayers {
  Settings dynamic_broker;
  Settings dynamic_default;
  StaticSettings fixed;
  // Defaults that depend on the machine or on other keys; they stand in for those of the table.
  Settings derived;
};

// What the machine tells: the name that clients may know it by, and its cores.
struct Machine {
  std::string host_name;
  unsigned cores = 1;
};

[[nodiscard]] Machine this_machine();

// The layers of a starting broker. Errors: kInvalid (node.id is missing).
[[nodiscard]] Result<BrokerLayers> make_layers(StaticSettings fixed, const Machine& machine);

// The text of the strongest layer that has the key, and at last its default; nothing for a default
// of null.
[[nodiscard]] std::optional<std::string_view> effective_text(const BrokerLayers& layers,
                                                             const ConfigKey& key);

// The text of the key's default.
[[nodiscard]] std::optional<std::string_view> default_text(const BrokerLayers& layers,
                                                           const ConfigKey& key);

// The value that counts for a key of the broker table; nothing for null. A key that is not in the
// table is a bug.
[[nodiscard]] std::optional<Value> broker_value(const BrokerLayers& layers, std::string_view name);
// The same of a type that cannot be null. A null is a bug.
[[nodiscard]] std::int64_t broker_number(const BrokerLayers& layers, std::string_view name);
[[nodiscard]] bool broker_flag(const BrokerLayers& layers, std::string_view name);
[[nodiscard]] std::string broker_text(const BrokerLayers& layers, std::string_view name);
[[nodiscard]] List broker_list(const BrokerLayers& layers, std::string_view name);

// Whether the URL's scheme is one that keeps everything in this process or in files of this
// machine.
[[nodiscard]] bool is_memory_url(std::string_view url);

}  // namespace weir::config

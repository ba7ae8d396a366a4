// Checks the configuration of a group: its overrides within the limits of the broker's group.*
// keys. Pure.
#pragma once
#include "config/layers.h"
#include "config/rejection.h"

namespace weir::config {

// INVALID_CONFIG: a key that no group has, a value that its key does not take, or one beyond the
// broker's limits.
[[nodiscard]] Checked<void> validate_group_configs(const Settings& overrides,
                                                   const BrokerLayers& broker);

// The value of one group key; nothing for null.
[[nodiscard]] std::optional<Value> group_value(const ConfigKey& key, const Settings& overrides,
                                               const BrokerLayers& broker);

}  // namespace weir::config

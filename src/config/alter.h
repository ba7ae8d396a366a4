// Changes of configurations: what IncrementalAlterConfigs (KIP-339) asks for, as a function from
// the settings of a resource to new settings, and the check of a broker's dynamic settings.
// AlterConfigs replaces the settings and needs the checks only; those of topics and groups are
// validate_topic_configs and validate_group_configs. Pure functions.
#pragma once
#include "config/broker_config.h"
#include "config/layers.h"
#include "config/rejection.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace weir::config {

// The numbers of the request.
enum class AlterOp : std::int8_t { kSet = 0, kDelete = 1, kAppend = 2, kSubtract = 3 };

struct Alteration {
  std::string name;
  AlterOp op = AlterOp::kSet;
  std::optional<std::string> value;
};

// `current` after the alterations; the result is not checked yet. INVALID_REQUEST: a key twice, a
// null value, an operation that does not exist. INVALID_CONFIG: APPEND or SUBTRACT on a key that is
// no list. Both begin with the key's own default where the key is not set, as in Kafka; APPEND adds
// no element twice. Deleting what is not set changes nothing.
[[nodiscard]] Checked<Settings> apply_alterations(Scope scope, const Settings& current,
                                                  std::span<const Alteration> alterations);

enum class DynamicTarget : std::uint8_t { kBroker, kClusterDefault };

// Checks the whole dynamic settings of a broker or of all brokers. INVALID_REQUEST: a key that
// changes only with a restart, or only for one broker; a value that is not valid, alone or with the
// others. INVALID_CONFIG: a key that does not exist.
[[nodiscard]] Checked<void> validate_dynamic_configs(DynamicTarget target, const Settings& proposed,
                                                     const BrokerLayers& layers,
                                                     const Machine& machine,
                                                     Permissions permissions);

}  // namespace weir::config

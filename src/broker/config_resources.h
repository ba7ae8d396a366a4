// The resources that have a configuration: looked up, checked and changed for the three APIs that
// speak of them.
#pragma once
#include "broker/broker.h"
#include "config/layers.h"
#include "config/rejection.h"

#include <string>
#include <vector>

namespace weir::broker {

struct ResourceSettings {
  metadata::ConfigResourceType type = metadata::ConfigResourceType::kTopic;
  std::string name;
  config::Settings settings;  // what is set for it, not the defaults
};

// The resource of this type (as in the protocol) and name. UNKNOWN_TOPIC_OR_PARTITION;
// INVALID_REQUEST: a broker other than this one, or a type without configuration here.
[[nodiscard]] config::Checked<ResourceSettings> find_resource(Broker& broker, std::int8_t type,
                                                              const std::string& name);

// Makes `proposed` the settings of the resource, if they are valid: one entry in the metadata log.
Task<config::Checked<void>> change_settings(Broker& broker, std::size_t core,
                                            ResourceSettings resource, config::Settings proposed,
                                            bool validate_only);

}  // namespace weir::broker

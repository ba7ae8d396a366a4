// The reference page of the configuration, docs/reference/configuration.md, from the table of keys.
#pragma once
#include <string>

namespace weir::config {

[[nodiscard]] std::string config_reference();

}  // namespace weir::config

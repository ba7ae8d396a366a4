// `weir broker`: a broker from a configuration file, the environment and --set.
#pragma once
#include "base/error.h"
#include "config/broker_config.h"
#include "config/layers.h"
#include "main/command_line.h"

#include <string>
#include <vector>

namespace weir {

struct BrokerOptions {
  std::string config_file;  // empty: none
  std::vector<std::string> sets;
  bool dev = false;
  bool check_config = false;
};

struct LoadedConfig {
  config::BrokerLayers layers;
  config::Machine machine;
  config::Permissions permissions;
  config::BrokerConfig broker;
};

// Errors: kNotFound (the file), kInvalid (everything that is wrong in it, one a line).
[[nodiscard]] Result<LoadedConfig> load_config(const BrokerOptions& options);

// Prints the keys that have an effect with their values and where these come from; warnings and
// errors to err.
[[nodiscard]] ExitCode check_config(const BrokerOptions& options, Output output);

void add_broker_command(CLI::App& app, Output output, ExitCode& result);

}  // namespace weir

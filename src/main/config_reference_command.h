// `weir config-reference`: prints the reference page of the configuration.
#pragma once
#include "main/command_line.h"

namespace weir {

void add_config_reference_command(CLI::App& app, Output output, ExitCode& result);

}  // namespace weir

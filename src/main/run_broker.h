// Runs a broker in the foreground until SIGTERM or SIGINT, or until it can serve no more.
#pragma once
#include "main/broker_command.h"
#include "main/command_line.h"

namespace weir {

[[nodiscard]] ExitCode run_broker(LoadedConfig config, Output output);

}  // namespace weir

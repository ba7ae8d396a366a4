// `weir metadata stat` and `weir metadata dump`: what stands in a metadata log. Both read only, and
// may run beside brokers.
#pragma once
#include "main/command_line.h"

namespace weir {

void add_metadata_command(CLI::App& app, Output output, ExitCode& result);

}  // namespace weir

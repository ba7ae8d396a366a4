// `weir fsck`: is what the metadata refers to stored, and whole? Reads only, and may run beside
// brokers. Ends with 1 when something is damaged.
#pragma once
#include "main/command_line.h"

namespace weir {

void add_fsck_command(CLI::App& app, Output output, ExitCode& result);

}  // namespace weir

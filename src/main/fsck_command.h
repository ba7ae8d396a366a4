// `weir fsck`: is what the metadata refers to stored, and whole? Reads only, and may run beside
// brokers. Ends with ExitCode::kDamage when something is damaged, with kFailure when it could not
// be found out.
#pragma once
#include "main/command_line.h"

namespace weir {

void add_fsck_command(CLI::App& app, Output output, ExitCode& result);

}  // namespace weir

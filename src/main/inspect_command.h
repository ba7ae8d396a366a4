// `weir inspect OBJECT`: prints a WAL object, every run and batch, with all checksums checked.
#pragma once
#include "main/command_line.h"

namespace weir {

void add_inspect_command(CLI::App& app, Output output, ExitCode& result);

}  // namespace weir

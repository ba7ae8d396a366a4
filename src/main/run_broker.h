// Runs a broker in the foreground until SIGTERM or SIGINT, or until it can serve no more.
//
// A broker that has served and then finds that the metadata log holds another history, or damage,
// is taken down and built anew within the process, as by a restart: with nothing of what it knew,
// from the snapshot and the log as they are then. That goes on, with pauses, for as long as it
// fails so.
#pragma once
#include "main/broker_command.h"
#include "main/command_line.h"

namespace weir {

[[nodiscard]] ExitCode run_broker(LoadedConfig config, Output output);

}  // namespace weir

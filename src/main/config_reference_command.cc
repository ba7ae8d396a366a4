#include "main/config_reference_command.h"

#include "config/reference.h"

#include <CLI/CLI.hpp>

#include <ostream>

namespace weir {

void add_config_reference_command(CLI::App& app, Output output, ExitCode& result) {
  CLI::App* command = app.add_subcommand(
      "config-reference", "Print the reference of all configuration keys (Markdown)");
  command->callback([output, &result] {
    *output.out << config::config_reference();
    result = output.out->good() ? ExitCode::kSuccess : ExitCode::kFailure;
  });
}

}  // namespace weir

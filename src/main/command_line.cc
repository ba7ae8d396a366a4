#include "main/command_line.h"

#include "main/broker_command.h"
#include "main/config_reference_command.h"
#include "main/fsck_command.h"
#include "main/inspect_command.h"
#include "main/metadata_command.h"

#include <CLI/CLI.hpp>

#include <ostream>

namespace weir {
namespace {

// CLI11 says that a subcommand is missing where one is that it does not know.
void report_missing(const CLI::App& app, const CLI::RequiredError& error, Output output) {
  const CLI::App* asked = &app;
  while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
  const std::vector<const CLI::App*> known = asked->get_subcommands(nullptr);
  const std::vector<std::string> strange = asked->remaining();
  if (known.empty()) {
    *output.err << asked->get_name() << ": " << error.what() << '\n';
  } else {
    *output.err << (strange.empty() ? "a subcommand is required"
                                    : "there is no subcommand '" + strange.front() + "'")
                << "; there are:";
    for (const CLI::App* subcommand : known) *output.err << ' ' << subcommand->get_name();
    *output.err << '\n';
  }
  *output.err << "Run with --help for more information.\n";
}

}  // namespace

int run_command_line(std::vector<std::string> arguments, Output output) {
  CLI::App app("Weir: a Kafka broker on object storage", "weir");
  app.set_version_flag("--version", std::string("weir " WEIR_VERSION));
  app.require_subcommand(1);
  ExitCode result = ExitCode::kSuccess;
  add_broker_command(app, output, result);
  add_config_reference_command(app, output, result);
  add_fsck_command(app, output, result);
  add_inspect_command(app, output, result);
  add_metadata_command(app, output, result);

  std::ranges::reverse(arguments);  // the order that CLI11 takes them in
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::RequiredError& error) {
    report_missing(app, error, output);
    return static_cast<int>(ExitCode::kUsage);
  } catch (const CLI::ParseError& error) {
    // Also the way of --help and --version, which are no errors.
    const bool asked = app.exit(error, *output.out, *output.err) == 0;
    return static_cast<int>(asked ? ExitCode::kSuccess : ExitCode::kUsage);
  }
  return static_cast<int>(result);
}

}  // namespace weir

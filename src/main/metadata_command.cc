#include "main/metadata_command.h"

#include "main/cluster_reading.h"
#include "metadata/state/stat.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>

namespace weir {
namespace {

struct MetadataOptions {
  ClusterUrls urls;
  std::optional<metadata::Position> after;
};

Task<Result<ExitCode>> dump_entries(metadata::MetadataLog& log,
                                    std::optional<metadata::Position> after, Output output) {
  if (!after) {
    WEIR_CO_TRY(after, co_await trimmed_upto(log));
  }
  WEIR_CO_CHECK(
      co_await for_each_entry(log, *after, [output](const metadata::LogEntry& entry) -> Status {
        WEIR_TRY(std::string line, metadata::record_to_json(entry));
        *output.out << line << '\n';
        return {};
      }));
  co_return ExitCode::kSuccess;
}

Task<Result<ExitCode>> print_stat(OpenedCluster& cluster, Clock& clock, Executor executor,
                                  Output output) {
  WEIR_CO_TRY(const metadata::State state, co_await read_state(cluster, clock, std::move(executor),
                                                               [output](const std::string& lost) {
                                                                 *output.err << lost << '\n';
                                                               }));
  *output.out << metadata::to_json(metadata::stat_of(state)) << '\n';
  co_return ExitCode::kSuccess;
}

ExitCode dump(const MetadataOptions& options, Output output) {
  return run_on_cluster(options.urls, output, [&](OpenedCluster& cluster, Clock&, const Executor&) {
    return dump_entries(*cluster.log, options.after, output);
  });
}

ExitCode stat(const MetadataOptions& options, Output output) {
  return run_on_cluster(options.urls, output,
                        [&](OpenedCluster& cluster, Clock& clock, const Executor& executor) {
                          return print_stat(cluster, clock, executor, output);
                        });
}

CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& help,
                   const std::shared_ptr<MetadataOptions>& options) {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("--log", options->urls.log, "The metadata log, as in metadata.log.url")
      ->required()
      ->type_name("URL");
  command
      ->add_option("--store", options->urls.store,
                   "The object store, as in object.store.url: for a log that was trimmed, or lies "
                   "in it (object:)")
      ->type_name("URL");
  return command;
}

}  // namespace

void add_metadata_command(CLI::App& app, Output output, ExitCode& result) {
  CLI::App* command = app.add_subcommand("metadata", "Look into a metadata log");
  command->require_subcommand(1);
  auto options = std::make_shared<MetadataOptions>();
  CLI::App* counting =
      add_verb(*command, "stat", "Print what the state holds at the end of the log", options);
  counting->callback([options, output, &result] { result = stat(*options, output); });
  CLI::App* dumping =
      add_verb(*command, "dump", "Print the entries, a JSON document a line", options);
  dumping->add_option("--after", options->after,
                      "Begin behind this position; default: the first entry that is kept");
  dumping->callback([options, output, &result] { result = dump(*options, output); });
}

}  // namespace weir

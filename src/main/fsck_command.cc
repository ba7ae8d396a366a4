#include "main/fsck_command.h"

#include "main/bucket_check.h"
#include "main/cluster_reading.h"
#include "metadata/snapshot_load.h"
#include "metadata/snapshot_store.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <ostream>

namespace weir {
namespace {

struct FsckOptions {
  ClusterUrls urls;
  bool sizes_only = false;
};

void print(Output output, const std::string& line) { *output.out << line << '\n'; }

// Whether a broker could start from the latest snapshot. True: it could, or there is none yet.
Task<Result<bool>> is_snapshot_whole(OpenedCluster& cluster, Output output) {
  metadata::SnapshotStore snapshots(*cluster.store, *cluster.log);
  auto latest = co_await snapshots.load_latest();
  if (latest) co_return true;
  if (!metadata::is_lost(latest.error())) co_return std::unexpected(latest.error());
  print(output, "the latest snapshot is lost: " + latest.error().to_string());
  co_return false;
}

std::string summary(const BucketCounts& counts) {
  return fmt::format(
      "{} objects of {} bytes hold {} extents; {} damaged, {} could not be read; {} unneeded ones "
      "wait for their deletion; {} of {} bytes are not named by the metadata (yet, or any more)",
      counts.objects, counts.bytes, counts.extents, counts.damaged, counts.unreadable,
      counts.unneeded, counts.unnamed, counts.unnamed_bytes);
}

Task<Result<ExitCode>> check(const FsckOptions& options, OpenedCluster& cluster, Clock& clock,
                             Executor executor, Output output) {
  WEIR_CO_TRY(const bool is_whole, co_await is_snapshot_whole(cluster, output));
  // Of the latest it was told.
  const auto ignore = [](const std::string&) {};
  BucketCheck bucket(
      *cluster.store, [&] { return read_state(cluster, clock, executor, ignore); }, executor,
      !options.sizes_only, [output](const std::string& line) { print(output, line); });
  WEIR_CO_TRY(const BucketCounts counts, co_await bucket.run());
  print(output, summary(counts));
  output.out->flush();
  if (!*output.out) co_return fail(ErrorCode::kInternal, "the report could not be written");
  if (counts.damaged > 0 || !is_whole) {
    *output.err << "something is damaged: docs/operate/cluster.md tells what to do\n";
    co_return ExitCode::kDamage;
  }
  if (counts.unreadable == 0) co_return ExitCode::kSuccess;
  co_return fail(ErrorCode::kUnavailable,
                 fmt::format("{} objects could not be read", counts.unreadable));
}

ExitCode fsck(const FsckOptions& options, Output output) {
  for (const auto& [name, url] :
       {std::pair{"--log", options.urls.log}, std::pair{"--store", options.urls.store}}) {
    if (!url.empty()) continue;
    *output.err << fmt::format("fsck: {} is empty; give the URL that the brokers have\n", name);
    return ExitCode::kUsage;
  }
  return run_on_cluster(options.urls, output,
                        [&](OpenedCluster& cluster, Clock& clock, const Executor& executor) {
                          return check(options, cluster, clock, executor, output);
                        });
}

}  // namespace

void add_fsck_command(CLI::App& app, Output output, ExitCode& result) {
  CLI::App* command = app.add_subcommand(
      "fsck", "Check that what the metadata refers to is in the object store, and whole");
  auto options = std::make_shared<FsckOptions>();
  command->add_option("--log", options->urls.log, "The metadata log, as in metadata.log.url")
      ->required()
      ->type_name("URL");
  command->add_option("--store", options->urls.store, "The object store, as in object.store.url")
      ->required()
      ->type_name("URL");
  command->add_flag("--sizes-only", options->sizes_only,
                    "Compare the objects' sizes, and read none of them");
  command->callback([options, output, &result] { result = fsck(*options, output); });
}

}  // namespace weir

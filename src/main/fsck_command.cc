#include "main/fsck_command.h"

#include "main/bucket_check.h"
#include "main/cluster_reading.h"
#include "runtime/rng.h"
#include "storage/retrying_store.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <set>

namespace weir {
namespace {

struct FsckOptions {
  ClusterUrls urls;
  bool sizes_only = false;
};

std::string summary(const BucketCounts& counts, std::size_t lost_snapshots) {
  return fmt::format(
      "{} objects of {} bytes hold {} extents; {} damaged; {} unneeded ones and {} orphans of {} "
      "bytes wait for their deletion; {} snapshots lost",
      counts.objects, counts.bytes, counts.extents, counts.damaged, counts.unneeded, counts.orphans,
      counts.orphan_bytes, lost_snapshots);
}

Task<Status> check(const FsckOptions& options, OpenedCluster& cluster, Clock& clock,
                   Executor executor, Output output) {
  storage::RetryingStore store(*cluster.store, clock, Rng::from_entropy(), {});
  std::set<std::string> lost;
  const auto on_lost = [&](const std::string& text) {
    if (lost.insert(text).second) *output.out << text << '\n';
  };
  BucketCheck bucket(
      store, [&] { return read_state(cluster, executor, on_lost); }, executor, !options.sizes_only,
      [output](const std::string& line) { *output.out << line << '\n'; });
  WEIR_CO_TRY(const BucketCounts counts, co_await bucket.run());
  *output.out << summary(counts, lost.size()) << '\n';
  if (counts.damaged == 0 && lost.empty()) co_return Status{};
  co_return fail(ErrorCode::kCorrupt, "something is damaged; docs/operate tells what to do");
}

ExitCode fsck(const FsckOptions& options, Output output) {
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

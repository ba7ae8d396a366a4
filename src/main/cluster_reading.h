// What programs that only look at a cluster share: its log and store, opened to be read, and the
// state behind them. They may run beside brokers.
#pragma once
#include "main/command_line.h"
#include "metadata/log/metadata_log.h"
#include "metadata/state/state.h"
#include "runtime/clock.h"
#include "storage/retrying_store.h"

#include <functional>
#include <memory>

namespace weir {

struct ClusterUrls {
  std::string log;    // as in metadata.log.url
  std::string store;  // as in object.store.url; empty: none was given
};

struct OpenedCluster {
  std::unique_ptr<storage::ObjectStore> raw_store;
  // Tries again for some seconds. Null: none was given.
  std::unique_ptr<storage::RetryingStore> store;
  std::unique_ptr<metadata::MetadataLog> log;
};

using OnEntry = std::function<Status(const metadata::LogEntry&)>;

// Every entry behind `after` that stands in the log now, in order.
[[nodiscard]] Task<Status> for_each_entry(metadata::MetadataLog& log, metadata::Position after,
                                          OnEntry on_entry);

// The position before the first entry that is still there.
[[nodiscard]] Task<Result<metadata::Position>> trimmed_upto(metadata::MetadataLog& log);

// The state at the end of the log, from a snapshot where the log does not go back to its beginning.
// `on_lost`: told of each snapshot that should be there and is lost. Tries again for some seconds.
[[nodiscard]] Task<Result<metadata::State>> read_state(
    OpenedCluster& cluster, Clock& clock, Executor executor,
    std::function<void(const std::string&)> on_lost);

using ClusterWork = std::function<Task<Result<ExitCode>>(OpenedCluster&, Clock&, Executor)>;

// Opens both, looks whether they belong together, does the work on a loop of its own, and writes
// what went wrong to output.err.
[[nodiscard]] ExitCode run_on_cluster(const ClusterUrls& urls, Output output,
                                      const ClusterWork& work);

}  // namespace weir

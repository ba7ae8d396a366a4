#include "main/cluster_reading.h"

#include "main/urls.h"
#include "metadata/log/open_metadata_log.h"
#include "metadata/snapshot_load.h"
#include "metadata/snapshot_store.h"
#include "metadata/store_claim.h"
#include "storage/open_object_store.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>

#include <ostream>

namespace weir {
namespace {

constexpr ByteCount kReadBytes = 4_MiB;
// With a store or a log that fails.
constexpr Duration kPatience = std::chrono::seconds(10);
// Objects that a file store reads at a time.
constexpr std::size_t kThreads = 4;

// To be read: the backend's promises on writing do not matter.
Result<OpenedCluster> open(const ClusterUrls& urls, Clock& clock, const Executor& blocking) {
  OpenedCluster out;
  if (!urls.store.empty()) {
    WEIR_TRY(out.raw_store, storage::open_object_store(urls.store, clock, blocking,
                                                       storage::StoreAccess::kReadOnly));
    out.store = std::make_unique<storage::RetryingStore>(
        *out.raw_store, clock, Rng::from_entropy(), storage::RetryPolicy{.deadline = kPatience});
  }
  WEIR_TRY(out.log, metadata::open_metadata_log(urls.log, clock,
                                                {.allow_unsafe = true,
                                                 .missing = metadata::MissingLog::kFail,
                                                 .store = out.store.get(),
                                                 .executor = blocking,
                                                 .store_url = urls.store}));
  return out;
}

// What is printed of one cluster must not be read out of another's store.
Task<Result<ExitCode>> check_and_work(const ClusterUrls& urls, OpenedCluster& cluster, Clock& clock,
                                      const ClusterWork& work, Executor executor) {
  if (cluster.store) {
    WEIR_CO_CHECK(co_await metadata::check_store(
        *cluster.log, *cluster.store,
        {.log = shown_url(urls.log), .store = shown_url(urls.store)}));
  }
  co_return co_await work(cluster, clock, std::move(executor));
}

Task<Result<metadata::State>> load_snapshot(
    OpenedCluster& cluster, Executor executor,
    const std::function<void(const std::string&)>& on_lost) {
  metadata::SnapshotStore snapshots(*cluster.store, *cluster.log);
  WEIR_CO_TRY(metadata::RestoredState restored,
              co_await metadata::restore_state(snapshots, *cluster.log, std::move(executor)));
  for (const Error& lost : restored.lost) {
    on_lost(fmt::format("a snapshot is lost ({}); used that of position {}", lost.to_string(),
                        restored.snapshot.ref.position));
  }
  co_return std::move(restored.state);
}

}  // namespace

Task<Result<metadata::Position>> trimmed_upto(metadata::MetadataLog& log) {
  WEIR_CO_TRY(metadata::SnapshotRef latest, co_await log.latest_snapshot());
  metadata::Position gone = -1;
  metadata::Position kept = latest.position;  // the log is never trimmed beyond it
  while (gone + 1 < kept) {
    metadata::Position middle = gone + (kept - gone) / 2;
    auto read = co_await log.read(middle, 1);
    if (!read && read.error().code != ErrorCode::kNotFound) co_return std::unexpected(read.error());
    (read ? kept : gone) = middle;
  }
  co_return kept;
}

Task<Status> for_each_entry(metadata::MetadataLog& log, metadata::Position after,
                            OnEntry on_entry) {
  WEIR_CO_TRY(metadata::Position tail, co_await log.tail());
  while (after < tail) {
    WEIR_CO_TRY(auto entries, co_await log.read(after, kReadBytes));
    for (const metadata::LogEntry& entry : entries) {
      WEIR_CO_CHECK(on_entry(entry));
      after = entry.position;
    }
    if (entries.empty()) {
      co_return fail(
          ErrorCode::kUnavailable,
          fmt::format("the metadata log ends at {} and shows nothing after {}", tail, after));
    }
  }
  co_return Status{};
}

namespace {

Task<Result<metadata::State>> try_read_state(
    OpenedCluster& cluster, Executor executor,
    const std::function<void(const std::string&)>& on_lost) {
  WEIR_CO_TRY(metadata::Position trimmed, co_await trimmed_upto(*cluster.log));
  metadata::State state;
  if (trimmed > 0) {
    if (!cluster.store) {
      co_return fail(ErrorCode::kInvalid,
                     fmt::format("the log begins after position {}; what was before is in a "
                                 "snapshot in the object store: give it with --store, as in "
                                 "object.store.url",
                                 trimmed));
    }
    WEIR_CO_TRY(state, co_await load_snapshot(cluster, std::move(executor), on_lost));
  }
  Status read = co_await for_each_entry(*cluster.log, state.position(),
                                        [&](const metadata::LogEntry& entry) -> Status {
                                          WEIR_CHECK(state.apply(entry, -1));
                                          return {};
                                        });
  if (read) co_return state;
  // The log was trimmed meanwhile, behind a later snapshot.
  if (read.error().code == ErrorCode::kNotFound)
    co_return fail(ErrorCode::kUnavailable, read.error().message);
  co_return std::unexpected(read.error());
}

}  // namespace

Task<Result<metadata::State>> read_state(OpenedCluster& cluster, Clock& clock, Executor executor,
                                         std::function<void(const std::string&)> on_lost) {
  const MonoTime end = clock.now() + kPatience;
  while (true) {
    auto state = co_await try_read_state(cluster, executor, on_lost);
    if (state || !is_retriable(state.error().code) || clock.now() > end) co_return state;
    co_await clock.sleep(std::chrono::seconds(1));
  }
}

ExitCode run_on_cluster(const ClusterUrls& urls, Output output, const ClusterWork& work) {
  SystemClock clock;
  Result<ExitCode> result = ExitCode::kSuccess;
  boost::asio::io_context loop;  // outlives the threads that post to it
  boost::asio::thread_pool blocking(kThreads);
  auto cluster = open(urls, clock, blocking.get_executor());
  if (cluster) {
    auto work_and_stop = [&]() -> Task<Result<ExitCode>> {
      auto done = co_await check_and_work(urls, *cluster, clock, work, loop.get_executor());
      co_await cluster->log->stop();
      co_return done;
    };
    boost::asio::co_spawn(loop, work_and_stop(),
                          [&](const std::exception_ptr& error, Result<ExitCode> ended) {
                            if (error) std::rethrow_exception(error);
                            result = std::move(ended);
                          });
    loop.run();
  } else {
    result = std::unexpected(cluster.error());
  }
  if (result) return *result;
  *output.err << result.error().to_string() << '\n';
  return ExitCode::kFailure;
}

}  // namespace weir

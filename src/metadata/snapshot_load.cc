#include "metadata/snapshot_load.h"

#include "metadata/state/snapshot_codec.h"
#include "runtime/oneshot.h"
#include "runtime/run_on.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

namespace weir::metadata {
namespace {

constexpr ByteCount kReadBytes = 4_MiB;

Task<Result<State>> decode(LoadedSnapshot& loaded, Executor blocking) {
  auto state = co_await decode_snapshot(std::move(loaded.chunks), std::move(blocking));
  if (!state) co_return std::unexpected(state.error().in(loaded.snapshot.ref.manifest_key));
  co_return state;
}

// Applies what follows the snapshot, to `until` and on until an entry confirms its history: the
// writer of that entry had applied the snapshot's position and had the same hash there. A snapshot
// of a history that the log no longer has (docs/formats/snapshot.md) fails.
Task<Status> confirm(State& state, MetadataLog& log, Position until) {
  const Position from = state.position();
  bool confirmed = false;
  while (state.position() < until || !confirmed) {
    WEIR_CO_TRY(const std::vector<LogEntry> entries,
                co_await log.read(state.position(), kReadBytes));
    if (entries.empty()) break;
    for (const LogEntry& entry : entries) {
      WEIR_CO_TRY(const Applied applied, state.apply(entry, -1));
      const bool is_foreign = applied.outcome == Applied::Outcome::kForeign;
      confirmed = confirmed || (!is_foreign && applied.header.known >= from);
    }
  }
  if (confirmed && state.position() >= until) co_return Status();
  co_return fail(ErrorCode::kCorrupt,
                 fmt::format("no entry of the log confirms the snapshot of position {}", from));
}

Task<Result<RestoredState>> restore_from(SnapshotStore& store, MetadataLog& log, SnapshotRef ref,
                                         Position until, Executor blocking) {
  WEIR_CO_TRY(LoadedSnapshot loaded, co_await store.load(std::move(ref)));
  RestoredState out;
  WEIR_CO_TRY(out.state, co_await decode(loaded, std::move(blocking)));
  WEIR_CO_CHECK(co_await confirm(out.state, log, until));
  out.snapshot = std::move(loaded.snapshot);
  co_return out;
}

Task<Result<RestoredState>> restore_latest(SnapshotStore& store, Executor blocking) {
  RestoredState out;
  WEIR_CO_TRY(LoadedSnapshot loaded, co_await store.load_latest());
  if (loaded.snapshot.ref.manifest_key.empty()) co_return out;
  WEIR_CO_TRY(out.state, co_await decode(loaded, std::move(blocking)));
  out.snapshot = std::move(loaded.snapshot);
  co_return out;
}

}  // namespace

bool is_lost(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kCorrupt;
}

Task<Result<RestoredState>> restore_state(SnapshotStore& store, MetadataLog& log,
                                          Executor blocking) {
  auto restored = co_await restore_latest(store, blocking);
  if (restored || !is_lost(restored.error())) co_return restored;
  std::vector<Error> lost{restored.error()};
  WEIR_CO_TRY(const SnapshotRef latest, co_await log.latest_snapshot());
  WEIR_CO_TRY(const std::vector<SnapshotRef> older, co_await store.before(latest));
  for (const SnapshotRef& ref : older) {
    restored = co_await restore_from(store, log, ref, latest.position, blocking);
    if (restored) {
      restored->lost = std::move(lost);
      co_return restored;
    }
    if (!is_lost(restored.error())) co_return restored;
    lost.push_back(restored.error());
  }
  co_return std::unexpected(lost.front());
}

Task<Result<State>> decode_snapshot(std::vector<Slice> chunks, Executor blocking) {
  // All parts at once: the executor has several threads.
  std::vector<OneShot<Result<DecodedPart>>> decoding;
  for (Slice& chunk : chunks) {
    auto& done = decoding.emplace_back();
    boost::asio::post(blocking,
                      [done, chunk = std::move(chunk)]() mutable { done.set(decode_part(chunk)); });
  }
  std::vector<DecodedPart> parts;
  Status failed;
  for (auto& part : decoding) {
    auto decoded = co_await part.wait();
    if (decoded) {
      parts.push_back(std::move(*decoded));
    } else if (failed) {
      failed = std::unexpected(decoded.error());
    }
  }
  WEIR_CO_CHECK(failed);
  co_return co_await run_on(blocking, [&parts] { return assemble(std::move(parts)); });
}

}  // namespace weir::metadata

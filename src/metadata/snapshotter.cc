#include "metadata/snapshotter.h"

#include "base/planted.h"
#include "metadata/snapshot_load.h"
#include "runtime/log.h"
#include "runtime/run_on.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::metadata {

Snapshotter::Snapshotter(SnapshotStore& store, MetadataLog& log, Replayer& replayer, Clock& clock,
                         Executor blocking, SnapshotterOptions options)
    : store_(store),
      log_(log),
      replayer_(replayer),
      clock_(clock),
      blocking_(std::move(blocking)),
      options_(options),
      base_time_(clock.now()) {}

Task<Result<std::optional<State>>> Snapshotter::load() {
  MonoTime begin = clock_.now();
  auto restored = co_await restore_state(store_, log_, blocking_);
  if (!restored) {
    if (is_lost(restored.error())) repair({});
    co_return std::unexpected(restored.error());
  }
  Snapshot& snapshot = restored->snapshot;
  State& state = restored->state;
  if (!restored->lost.empty()) {
    log::warn("metadata.snapshot.fell_back", {{"to", snapshot.ref.position},
                                              {"position", state.position()},
                                              {"lost", restored->lost.front()}});
    repair(std::move(snapshot.ref));
    co_return std::optional(std::move(state));
  }
  if (snapshot.ref.manifest_key.empty()) co_return std::optional<State>();
  Versions versions;
  for (const SnapshotPart& part :
       plan_snapshot(std::make_shared<const FrozenState>(freeze(state)))) {
    versions[part.name] = part.version;
  }
  log::info(
      "metadata.snapshot.loaded",
      {{"position", snapshot.ref.position},
       {"chunks", snapshot.manifest.chunks.size()},
       {"took_ms",
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - begin).count()}});
  adopt(std::move(snapshot), std::move(versions), replayer_.applied_bytes());
  co_return std::optional(std::move(state));
}

void Snapshotter::adopt(Snapshot snapshot, Versions versions, ByteCount applied_bytes) {
  base_position_ = snapshot.ref.position;
  base_ = std::move(snapshot);
  base_versions_ = std::move(versions);
  base_bytes_ = applied_bytes;
  base_time_ = clock_.now();
  repairs_ = false;
  intact_ = {};
}

void Snapshotter::repair(SnapshotRef intact) {
  base_ = {};
  base_versions_.clear();
  repairs_ = true;
  intact_ = std::move(intact);
}

bool Snapshotter::is_due(BrokerId broker) const {
  if (repairs_) return true;
  // The first of the live brokers writes; where it does not, the next one does a while later.
  std::uint64_t rank = 1;
  for (const auto& [id, other] : replayer_.state().tables().brokers) {
    if (id < broker && !other.fenced) ++rank;
  }
  if (replayer_.position() <= base_position_) return false;
  auto entries = static_cast<std::uint64_t>(replayer_.position() - base_position_);
  return entries >= options_.log_entries * rank ||
         replayer_.applied_bytes() - base_bytes_ >= options_.log_bytes * rank ||
         (has_interval() && clock_.now() - base_time_ >= options_.interval * rank);
}

void Snapshotter::consider(BrokerId broker) {
  if (is_due(broker)) due_.notify();
}

std::vector<ChunkSource> Snapshotter::sources(std::vector<SnapshotPart> parts,
                                              Versions& versions) const {
  std::vector<ChunkSource> out;
  for (SnapshotPart& part : parts) {
    auto before = base_versions_.find(part.name);
    bool same = part.version != 0 && before != base_versions_.end() &&
                (before->second == part.version || planted(Bug::kStaleSnapshot));
    versions[part.name] = part.version;
    ChunkSource& source = out.emplace_back();
    source.name = std::move(part.name);
    if (!same) source.make = std::move(part.encode);
  }
  return out;
}

// A snapshot of a history that the log does not hold would keep everybody from starting: this one
// must be the log's before it is frozen, and still when it is recorded.
Task<Status> Snapshotter::take(BrokerEpoch epoch) {
  MonoTime begin = clock_.now();
  WEIR_CO_CHECK(co_await replayer_.confirm());
  auto frozen = std::make_shared<const FrozenState>(freeze(replayer_.state()));
  ByteCount bytes = replayer_.applied_bytes();
  auto froze = clock_.now() - begin;
  Position position = frozen->position;
  SnapshotRef previous = repairs_ ? intact_ : base_.ref;
  auto parts = co_await run_on(blocking_, [frozen = std::move(frozen)]() mutable {
    return plan_snapshot(std::move(frozen));
  });
  Versions versions;
  // A strand: the store's tasks share what they count.
  auto strand = boost::asio::make_strand(blocking_);
  auto written = co_await boost::asio::co_spawn(
      strand,
      store_.write(position, epoch, sources(std::move(parts), versions), base_,
                   confirm_on(co_await boost::asio::this_coro::executor)),
      boost::asio::use_awaitable);
  if (!written) {
    // Another broker was faster, or its pruning was: go on from what there is.
    if (written.error().code == ErrorCode::kConflict) co_await adopt_latest();
    co_return std::unexpected(written.error());
  }
  log::info(
      "metadata.snapshot.written",
      {{"position", position},
       {"chunks", written->snapshot.manifest.chunks.size()},
       {"chunks_written", written->chunks_written},
       {"bytes_written", written->bytes_written},
       {"frozen_us", std::chrono::duration_cast<std::chrono::microseconds>(froze).count()},
       {"took_ms",
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - begin).count()}});
  adopt(std::move(written->snapshot), std::move(versions), bytes);
  co_await clean_up(std::move(previous));
  co_return Status{};
}

std::function<Task<Status>()> Snapshotter::confirm_on(const Executor& executor) {
  return [this, executor] {
    return boost::asio::co_spawn(executor, replayer_.confirm(), boost::asio::use_awaitable);
  };
}

// What another broker wrote counts as written here.
Task<void> Snapshotter::adopt_latest() {
  if (repairs_) co_return;
  auto ref = co_await log_.latest_snapshot();
  if (!ref || ref->position <= base_position_) co_return;
  auto latest = co_await store_.latest();
  if (latest) {
    adopt(std::move(*latest), {}, replayer_.applied_bytes());
  } else if (is_lost(latest.error())) {
    log::warn("metadata.snapshot.lost", {{"error", latest.error()}});
    repair(base_.ref);
  }
}

// The log stays readable from the snapshot before, for brokers that are a little behind. What fails
// here is done after the next.
Task<void> Snapshotter::clean_up(SnapshotRef previous) {
  if (Status confirmed = co_await replayer_.confirm(); !confirmed) {
    log::warn("metadata.log.trim.failed",
              {{"position", previous.position}, {"error", confirmed.error()}});
    co_return;
  }
  if (previous.position > 0) {
    if (Status trimmed = co_await log_.trim(previous.position); !trimmed) {
      log::warn("metadata.log.trim.failed",
                {{"position", previous.position}, {"error", trimmed.error()}});
    }
  }
  // Without one that is known to be whole, those before stay until the next: any of them may be the
  // last that is.
  if (previous.manifest_key.empty()) co_return;
  if (auto pruned = co_await store_.prune(std::move(previous)); !pruned) {
    log::warn("metadata.snapshot.prune.failed", {{"error", pruned.error()}});
  }
}

Task<void> Snapshotter::run(TaskGroup& group, BrokerId broker) {
  while (!group.stopping() && !replayer_.failure()) {
    if (has_interval()) {
      co_await due_.wait_until(clock_, clock_.now() + options_.interval);
    } else {
      co_await due_.wait();
    }
    if (group.stopping() || replayer_.failure() || !is_due(broker)) continue;
    co_await adopt_latest();
    if (group.stopping() || replayer_.failure() || !is_due(broker)) continue;
    const auto& brokers = replayer_.state().tables().brokers;
    auto own = brokers.find(broker);
    if (own == brokers.end()) continue;  // not registered yet
    Status taken = co_await take(own->second.image.epoch);
    if (taken || taken.error().code == ErrorCode::kConflict) continue;
    log::warn("metadata.snapshot.failed", {{"error", taken.error()}});
    co_await group.sleep(clock_, options_.retry);
    due_.notify();
  }
}

}  // namespace weir::metadata

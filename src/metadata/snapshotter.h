// Snapshots of the state, so that a start does not replay the whole log: loads the latest one, and
// writes a new one in the background when the log has grown enough; then the log is trimmed and
// older snapshots are pruned. After the latest one was lost it writes one soon that shares nothing
// with it. Lives on the coordinator's executor, which it holds up for the
// milliseconds of a freeze only; encoding and hashing happen on the blocking one.
#pragma once
#include "metadata/replayer.h"
#include "metadata/snapshot_store.h"
#include "metadata/state/snapshot_codec.h"
#include "runtime/clock.h"
#include "runtime/notifier.h"
#include "runtime/task_group.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

namespace weir::metadata {

struct SnapshotterOptions {
  // A snapshot is due when the log has grown by so much since the last one.
  ByteCount log_bytes = 16_MiB;
  std::uint64_t log_entries = 50'000;
  // Or when it has grown at all in so much time; zero: time does not count.
  Duration interval = Duration::zero();
  // After a failure.
  Duration retry = std::chrono::seconds(30);
};

class Snapshotter {
 public:
  Snapshotter(SnapshotStore& store, MetadataLog& log, Replayer& replayer, Clock& clock,
              Executor blocking, SnapshotterOptions options);

  // The state of the latest snapshot, or of the one before it with what follows in the log; nothing
  // where there is none. kNotFound and kCorrupt: all are lost.
  Task<Result<std::optional<State>>> load();
  // Writes snapshots when they are due, until the group stops or the replay fails.
  Task<void> run(TaskGroup& group, BrokerId broker);
  // The latest snapshot was lost, and no new one is written yet.
  [[nodiscard]] bool repairs() const { return repairs_; }
  // After entries were applied.
  void consider(BrokerId broker);
  // Lets run() see that the group stops, or that the replay failed.
  void wake() { due_.notify(); }
  // Writes one now.
  Task<Status> take(BrokerEpoch epoch);

 private:
  using Versions = std::unordered_map<std::string, std::uint64_t>;

  [[nodiscard]] bool has_interval() const { return options_.interval > Duration::zero(); }
  [[nodiscard]] bool is_due(BrokerId broker) const;
  // What of the parts has to be written; the versions of all of them.
  std::vector<ChunkSource> sources(std::vector<SnapshotPart> parts, Versions& versions) const;
  // Whether the log still holds this history, asked where the replayer lives.
  std::function<Task<Status>()> confirm_on(const Executor& executor);
  void adopt(Snapshot snapshot, Versions versions, ByteCount applied_bytes);
  // The latest is lost: nothing is shared with it. `intact`: the one that is kept instead, or none.
  void repair(SnapshotRef intact);
  Task<void> adopt_latest();
  Task<void> clean_up(SnapshotRef previous);

  SnapshotStore& store_;
  MetadataLog& log_;
  Replayer& replayer_;
  Clock& clock_;
  const Executor blocking_;
  const SnapshotterOptions options_;
  Notifier due_;
  Snapshot base_;
  bool repairs_ = false;
  SnapshotRef intact_;
  Versions base_versions_;
  ByteCount base_bytes_ = 0;  // Replayer::applied_bytes() then
  Position base_position_ = 0;
  MonoTime base_time_;
};

}  // namespace weir::metadata

// Keeps the state up to date with the log: reads entries, applies them in order, publishes what
// changed and tells listeners. Several tasks may ask for the same entries; each is applied once.
// Lives on the coordinator's executor (one thread); the members marked "any thread" may be called
// from elsewhere.
#pragma once
#include "metadata/coordinator.h"
#include "metadata/log/metadata_log.h"
#include "metadata/state/published_state.h"
#include "metadata/state/state.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

namespace weir::metadata {

class Replayer {
 public:
  // Told of every applied record of the epoch that was asked for, before anything else happens.
  using OnOwnRecord = std::move_only_function<void(Applied)>;

  explicit Replayer(MetadataLog& log) : log_(log) {}

  // The state of a snapshot takes the place of what there is, which must be older.
  void load(State state);
  void add_listener(CommitListener& listener) { listeners_.push_back(&listener); }
  void watch_epoch(BrokerEpoch epoch, OnOwnRecord on_own_record);
  // Told of every applied record of another epoch.
  void set_on_followed(std::move_only_function<void(const RecordHeader&)> on_followed) {
    on_followed_ = std::move(on_followed);
  }
  // Called after entries were applied and published, or after a failure.
  void set_after_apply(std::move_only_function<void()> after_apply) {
    after_apply_ = std::move(after_apply);
  }

  [[nodiscard]] const State& state() const { return state_; }
  // Any thread.
  [[nodiscard]] const PublishedState& readers() const { return readers_; }
  [[nodiscard]] Position position() const { return position_.load(std::memory_order_acquire); }
  // Of all entries that were applied here.
  [[nodiscard]] ByteCount applied_bytes() const { return applied_bytes_; }
  // Why nothing can be applied any more, if so: the history diverged, an entry is damaged or from a
  // newer Weir. Any thread.
  [[nodiscard]] std::optional<Error> failure() const;
  void fail(Error error);

  // Applies what follows position(); entries at or before it are skipped. Errors are final: see
  // failure().
  Status apply(const std::vector<LogEntry>& entries);
  // Reads and applies what follows, once, or up to `target`.
  Task<Status> read_more();
  Task<Status> read_until(Position target);
  // Whether the log still holds the entry at position(). kUnavailable and the like: not known;
  // kCorrupt is final. Without another look once there is a failure(), and so are the others here.
  Task<Status> verify();
  // verify() on one incarnation of the log: for what must be done to no other history than this one
  // (recording a snapshot, trimming, deleting).
  Task<Status> confirm();
  // A call of the log failed: what answers next may be another history, so verify() comes before
  // anything else is read or appended. A new incarnation of the log is a doubt of its own.
  void doubt() { ++doubts_; }
  Task<Status> resolve_doubt();

 private:
  static constexpr ByteCount kReadBytes = 4_MiB;

  // Nothing was read after `after`, but the log had the entry at `known`.
  Task<Status> check_end(Position after, Position known);
  Status diverged(const std::string& how);

  MetadataLog& log_;
  State state_;
  PublishedState readers_;
  std::vector<CommitListener*> listeners_;
  BrokerEpoch own_epoch_ = -1;
  OnOwnRecord on_own_record_;
  std::move_only_function<void(const RecordHeader&)> on_followed_;
  std::move_only_function<void()> after_apply_;
  std::atomic<Position> position_ = 0;
  ByteCount applied_bytes_ = 0;
  std::uint64_t doubts_ = 0;
  std::uint64_t settled_doubts_ = 0;
  std::uint64_t verified_incarnation_ = 0;
  mutable std::mutex failure_mutex_;
  std::optional<Error> failure_;
};

}  // namespace weir::metadata

// The metadata log in memory: for tests, the simulator and --dev. Nothing survives the process.
// Brokers of one process share one MemoryLog. Thread-safe; calls complete on the caller's executor
// without another thread, so a run is repeatable.
//
// Tests bend it: failing appends (before or after they took effect), outages, delays, and a return
// to an older state.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/log/tail_watch.h"

#include <deque>
#include <map>
#include <mutex>
#include <optional>

namespace weir::metadata {

class MemoryLog final : public MetadataLog {
 public:
  explicit MemoryLog(Clock& clock) : clock_(clock) {}

  Task<Result<Appended>> append(Slice entry, Position known) override;
  Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit) override;
  Task<Result<Position>> tail() override;
  Task<void> wait_past(Position position, MonoTime deadline) override;
  Task<Result<SnapshotRef>> latest_snapshot() override;
  Task<Status> record_snapshot(SnapshotRef ref) override;
  Task<Status> trim(Position upto) override;
  Task<Result<Uuid>> cluster_id(Uuid proposal) override;
  [[nodiscard]] std::uint64_t incarnation() const override;

  enum class Effect {
    kNone,  // the entry does not stand
    kDone,  // the entry stands, only the answer is lost
  };
  // The nth append from now (1: the next) answers `code`.
  void fail_append(std::size_t nth, Effect effect, ErrorCode code = ErrorCode::kTimeout);
  // All calls but wait_past answer `error` and have no effect, until it is empty again.
  void set_outage(std::optional<Error> error);
  struct Delays {
    Duration before{};  // from the call to its effect
    Duration after{};   // from the effect to the answer
  };
  // Of all calls but wait_past.
  void set_delays(Delays delays);

  // What a backup would hold. restore() makes it the state of the log, as an operator would: calls
  // that are under way fail, and the log has a new incarnation.
  struct Image {
    std::deque<Slice> entries;  // the first is at position trimmed + 1
    Position trimmed = 0;
    SnapshotRef snapshot;
    std::optional<Uuid> cluster_id;
  };
  [[nodiscard]] Image image() const;
  void restore(Image image);
  [[nodiscard]] std::size_t appends() const;

 private:
  struct Fault {
    Effect effect;
    ErrorCode code;
  };

  // The delays and the outage around `call`, which runs under the lock.
  template <typename T, typename F>
  Task<Result<T>> perform(F call);
  Result<Appended> append_locked(Slice entry, Position known);
  [[nodiscard]] std::vector<LogEntry> entries_after(Position after, ByteCount limit) const;
  [[nodiscard]] Position tail_locked() const {
    return image_.trimmed + static_cast<Position>(image_.entries.size());
  }

  Clock& clock_;
  TailWatch watch_;
  mutable std::mutex mutex_;
  Image image_;
  std::uint64_t restores_ = 0;
  std::size_t appends_ = 0;
  std::map<std::size_t, Fault> faults_;  // by number of the append
  std::optional<Error> outage_;
  Delays delays_;
};

}  // namespace weir::metadata

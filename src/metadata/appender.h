// Group commit: commands that were submitted while an append was under way go together into the
// next record. One record is in flight at a time; when its outcome is unknown, the same bytes are
// appended again until the record (its epoch and sequence) is seen in the log. Only kRefused of the
// first attempt says that it is not in the log (log/metadata_log.h). submit() may be called on any
// thread; the rest lives on the coordinator's executor.
//
// Commits of objects stay in order: when one is refused before it is in the log, so are those that
// were submitted behind it, until its submitter knows and can judge. An idempotent producer's
// second batch must not become its first.
#pragma once
#include "metadata/replayer.h"
#include "runtime/backoff.h"
#include "runtime/clock.h"
#include "runtime/notifier.h"
#include "runtime/oneshot.h"
#include "runtime/rng.h"
#include "runtime/task_group.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace weir::metadata {

struct AppenderOptions {
  // Of one record; a single command may be larger.
  ByteCount record_bytes = 4_MiB;
  std::size_t record_commands = 4096;
  // Of all commands that wait; beyond, submit() answers kExhausted.
  ByteCount queue_bytes = 64_MiB;
  std::size_t queue_commands = 65536;
  // After the log has been down for this long, what waits and what comes is answered with
  // kUnavailable, except for the record whose outcome is unknown.
  Duration patience = std::chrono::seconds(5);
  // last_outage_end() tells of outages that lasted so long: a call that fails now and then is none.
  Duration long_outage = Duration::zero();
  Duration retry_base = std::chrono::milliseconds(10);
  Duration retry_cap = std::chrono::seconds(1);
};

class Appender {
 public:
  Appender(MetadataLog& log, Replayer& replayer, Clock& clock, Rng rng, AppenderOptions options);

  // Waits until the command's record was applied, or the command was given up.
  Task<Result<CommandResult>> submit(Command command);

  // What may be written (state/metadata_level.h). Any thread.
  void write_at(std::int16_t metadata_level) { metadata_level_ = metadata_level; }
  // Appends records of this epoch from now on; -1: none, submit() answers `reason`.
  void open(BrokerId broker, BrokerEpoch epoch);
  // Everything that waits is answered with `reason`, and so is what comes until open().
  void close(Error reason);
  // New commands are answered with `reason`; returns when those that wait are settled, or when the
  // log is down.
  Task<void> drain(Error reason);
  // The broker is about to stop: once the log has been down for `patience`, the record whose
  // outcome is unknown is given up, too, with kCancelled. Any thread.
  void hurry() { hurried_ = true; }
  // Entries were skipped for a snapshot: the result of a record among them is lost.
  void after_reload();
  // Called by the replayer for each record of the epoch.
  void on_record(Applied applied);

  // Appends and applies what is submitted until the group stops.
  Task<void> run(TaskGroup& group);
  // Lets run() see that the group stops.
  void wake() { work_.notify(); }
  // Appends one record outside of the queue (registration), once. Success: it stands, and the state
  // has it.
  Task<Status> append_now(const RecordHeader& header, const std::vector<Command>& commands);

  // True while an append is under way, which will bring the entries of others along.
  [[nodiscard]] bool appending() const { return appending_; }
  // Wakes who waits for appending() to end.
  [[nodiscard]] Notifier& appended() { return appended_; }
  // Why the log does not answer, while it does not. Any thread.
  [[nodiscard]] std::optional<Error> outage() const;
  // When the log answered again the last time. Nothing: there was no (long) outage.
  [[nodiscard]] std::optional<MonoTime> last_outage_end() const;
  // Why a command that is submitted now would be refused at once, if so. Any thread.
  [[nodiscard]] std::optional<Error> refusal() const;
  // What another task met that read the log; tells of outages and their ends.
  void note_read(const Status& status);

 private:
  struct Waiter {
    std::vector<std::byte> bytes;
    std::optional<BrokerEpoch> only_epoch;  // of a CommitObject: the epoch of its object
    OneShot<Result<CommandResult>> done;
  };
  struct Record {
    std::int64_t sequence = 0;
    Slice bytes;
    std::vector<OneShot<Result<CommandResult>>> waiters;
    bool has_commit = false;
    std::size_t attempts = 0;
  };

  std::optional<Error> admit(std::size_t bytes, bool is_commit) const;  // under the lock
  std::optional<Error> refusal_locked() const;
  std::optional<Record> next_record();
  Task<void> attempt(TaskGroup& group);
  Task<Result<Appended>> append_once(Slice bytes);
  Task<Status> take_in(const Appended& appended);
  Task<void> look_for_end_of_outage(TaskGroup& group);
  void note(const Status& status);
  void give_up_queue(const Error& reason);
  void refuse_commits();
  Task<void> let_submitters_know();
  void settle_record(const Result<CommandResult>& result);
  [[nodiscard]] bool idle() const;

  MetadataLog& log_;
  Replayer& replayer_;
  Clock& clock_;
  Rng rng_;
  const AppenderOptions options_;
  Backoff backoff_;
  Notifier work_;
  Notifier appended_;
  Notifier settled_;
  std::atomic<bool> hurried_ = false;
  std::atomic<std::int16_t> metadata_level_ = 0;
  bool appending_ = false;
  std::optional<Record> record_;
  std::int64_t next_sequence_ = 0;

  mutable std::mutex mutex_;
  std::deque<Waiter> queue_;
  ByteCount queued_bytes_ = 0;
  BrokerId broker_ = -1;
  BrokerEpoch epoch_ = -1;
  std::optional<Error> closed_;
  bool commits_refused_ = false;
  std::optional<Error> outage_;
  MonoTime outage_since_{};
  std::optional<MonoTime> last_outage_end_;
};

}  // namespace weir::metadata

// The metadata log in an SQLite database: the embedded default. Brokers on one machine may share
// the file; it must lie on a local file system. An answered append survives the loss of power.
//
// The log owns one thread, on which all of SQLite happens. Appends that arrive while others are
// being written go together into the next transaction: one fsync for all. Whoever waits is woken at
// once by appends through this object, and by polling (5 to 40 ms, only while somebody waits) for
// those of other processes.
//
// A file that is replaced while it is open is noticed before the next call uses it, and the new one
// is opened: another incarnation. So is one that turned out to be damaged, at the next call: it may
// have been put back by then. Calls that began before fail with kUnavailable and do nothing.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/log/missing_log.h"

#include <memory>
#include <string>

namespace weir::metadata {

class SqliteLog final : public MetadataLog {
 public:
  // Opens the file at `path`. Where there is none, fails, or is an empty log, and the first call
  // that writes makes the file in its folder, which must exist: nothing is left behind by a broker
  // whose log this turns out not to be. Once there was a file, it is waited for, not made.
  // Blocks: for the start of a process. kInvalid: another program's database, a newer
  // schema, or one without a log that should be there. kCorrupt: not a
  // database, or damaged.
  [[nodiscard]] static Result<std::unique_ptr<SqliteLog>> open(
      std::string path, Clock& clock, MissingLog missing = MissingLog::kCreate);
  // After the last call has ended.
  ~SqliteLog() override;

  Task<Result<Appended>> append(Slice entry, Position known) override;
  Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit) override;
  Task<Result<Position>> tail() override;
  Task<void> wait_past(Position position, MonoTime deadline) override;
  Task<Result<SnapshotRef>> latest_snapshot() override;
  Task<Status> record_snapshot(SnapshotRef ref) override;
  Task<Status> trim(Position upto) override;
  Task<Result<Uuid>> cluster_id(Uuid proposal) override;
  [[nodiscard]] std::uint64_t incarnation() const override;

 private:
  class Worker;
  explicit SqliteLog(std::unique_ptr<Worker> worker);

  std::unique_ptr<Worker> worker_;
};

}  // namespace weir::metadata

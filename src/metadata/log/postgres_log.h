// The metadata log in a PostgreSQL database (13 and later), which the brokers of a cluster share.
// An answered append is durable as the server's settings have it: fsync and synchronous_commit off
// are refused, and for a failover that loses nothing the server needs synchronous standbys.
//
// The log owns one thread and one connection. An append is one round trip, which brings what others
// appended; several are under way at once, and those that wait meanwhile share the next
// transaction. Who waits is woken by NOTIFY, or by polling where that fails. While there is no
// connection, calls fail at once with kUnavailable and the reason; the log connects again by
// itself. A server that is silent for `patience` counts as dead.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/log/missing_log.h"

#include <memory>
#include <string>

namespace weir::metadata {

struct PostgresOptions {
  // kFail: a database without a log is refused. Otherwise it is an empty log, and stays as it is
  // until somebody writes.
  MissingLog missing = MissingLog::kCreate;
  // Take a server that may lose what it acknowledged (fsync or synchronous_commit is off).
  bool allow_unsafe = false;
  // For an answer, and for a connection where the URL has no connect_timeout.
  Duration patience = std::chrono::seconds(5);
  // Between two looks at the log while somebody waits.
  Duration poll_interval = std::chrono::milliseconds(500);
};

class PostgresLog final : public MetadataLog {
 public:
  // `url` is libpq's (postgres://…). Where there are no tables, the first call that writes makes
  // them: nothing is left behind by a broker whose log this turns out not to be. Once there were
  // tables, they are waited for, not made. Blocks for the first attempt to connect; a server that
  // is down is no error, one that is of no use is (kInvalid).
  [[nodiscard]] static Result<std::unique_ptr<PostgresLog>> open(std::string url, Clock& clock,
                                                                 PostgresOptions options = {});
  // After the last call has ended.
  ~PostgresLog() override;

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
  explicit PostgresLog(std::unique_ptr<Worker> worker);

  std::unique_ptr<Worker> worker_;
};

}  // namespace weir::metadata

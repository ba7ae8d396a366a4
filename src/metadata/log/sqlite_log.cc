#include "metadata/log/sqlite_log.h"

#include "metadata/log/log_rules.h"
#include "metadata/log/sqlite_worker.h"

#include <limits>

namespace weir::metadata {

SqliteLog::SqliteLog(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
SqliteLog::~SqliteLog() = default;

Result<std::unique_ptr<SqliteLog>> SqliteLog::open(std::string path, Clock& clock,
                                                   MissingLog missing) {
  if (path.empty()) {
    return fail(ErrorCode::kInvalid, "the metadata log has no path: write sqlite:PATH");
  }
  std::unique_ptr<SqliteFile> file;
  if (missing == MissingLog::kFail || SqliteFile::is_begun(path)) {
    auto opened = SqliteFile::open(path, missing);
    if (!opened) return std::unexpected(std::move(opened).error().in("metadata log"));
    file = *std::move(opened);
  } else if (Status checked = SqliteDb::check_folder(path); !checked) {
    return std::unexpected(checked.error().in("metadata log"));
  }
  auto worker = std::make_unique<Worker>(std::move(path), std::move(file), clock);
  return std::unique_ptr<SqliteLog>(new SqliteLog(std::move(worker)));
}

// Not a coroutine: the call begins here, not where it is awaited.
Task<Result<Appended>> SqliteLog::append(Slice entry, Position known) {
  return worker_->append(std::move(entry), known, worker_->incarnation());
}

Task<Result<std::vector<LogEntry>>> SqliteLog::read(Position after, ByteCount limit) {
  WEIR_CO_CHECK(check_position(after));
  co_return co_await worker_->perform<std::vector<LogEntry>>([&](SqliteFile& file) {
    return file.read(after, std::numeric_limits<Position>::max(), limit);
  });
}

Task<Result<Position>> SqliteLog::tail() {
  co_return co_await worker_->perform<Position>([](SqliteFile& file) { return file.tail(); });
}

Task<void> SqliteLog::wait_past(Position position, MonoTime deadline) {
  return worker_->wait_past(position, deadline);
}

Task<Result<SnapshotRef>> SqliteLog::latest_snapshot() {
  co_return co_await worker_->perform<SnapshotRef>(
      [](SqliteFile& file) { return file.latest_snapshot(); });
}

Task<Status> SqliteLog::record_snapshot(SnapshotRef ref) {
  co_return co_await worker_->perform<void>(
      [&](SqliteFile& file) { return file.record_snapshot(ref); }, SqliteAccess::kWrite);
}

// The entries are out of sight with the first step; their deletion gives way to appends between its
// steps. What a crash leaves of them the next trim deletes.
Task<Status> SqliteLog::trim(Position upto) {
  WEIR_CO_CHECK(co_await worker_->perform<void>(
      [&](SqliteFile& file) { return file.set_trimmed(upto); }, SqliteAccess::kWrite));
  bool more = true;
  while (more) {
    WEIR_CO_TRY(more, co_await worker_->perform<bool>(
                          [](SqliteFile& file) { return file.delete_trimmed(); }));
  }
  co_return Status();
}

Task<Result<Uuid>> SqliteLog::cluster_id(Uuid proposal) {
  co_return co_await worker_->perform<Uuid>(
      [&](SqliteFile& file) { return file.cluster_id(proposal); },
      proposal.is_zero() ? SqliteAccess::kRead : SqliteAccess::kWrite);
}

std::uint64_t SqliteLog::incarnation() const { return worker_->incarnation(); }

}  // namespace weir::metadata

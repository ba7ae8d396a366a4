#include "metadata/log/object_log.h"

#include "metadata/log/log_rules.h"
#include "metadata/log/object_worker.h"

namespace weir::metadata {

ObjectLog::ObjectLog(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

ObjectLog::~ObjectLog() = default;

Task<void> ObjectLog::stop() { return worker_->stop(); }

Result<std::unique_ptr<ObjectLog>> ObjectLog::open(storage::ObjectStore& store, std::string where,
                                                   Clock& clock, Executor executor,
                                                   ObjectLogOptions options) {
  auto opened = std::unique_ptr<ObjectLog>(new ObjectLog(
      std::make_unique<Worker>(store, std::move(where), clock, std::move(executor), options)));
  if (options.missing == MissingLog::kFail) {
    WEIR_CHECK(opened->worker_->find_log());
    return opened;
  }
  if (!options.probe) return opened;
  const Status fit = opened->worker_->probe();
  if (!fit && fit.error().code == ErrorCode::kInvalid) return std::unexpected(fit.error());
  return opened;
}

Task<Result<Appended>> ObjectLog::append(Slice entry, Position known) {
  WEIR_CO_CHECK(check_append(entry, known));
  co_return co_await worker_->perform<Result<Appended>>(
      [&] { return worker_->append(std::move(entry), known, Worker::Whose::kOwn); });
}

Task<Result<Appended>> ObjectLog::append_for_another(Slice entry, Position known) {
  WEIR_CO_CHECK(check_append(entry, known));
  co_return co_await worker_->perform<Result<Appended>>(
      [&] { return worker_->append(std::move(entry), known, Worker::Whose::kAnothers); });
}

void ObjectLog::heard_of(Position position, MonoTime began) { worker_->heard_of(position, began); }

Task<Result<std::vector<LogEntry>>> ObjectLog::read(Position after, ByteCount limit) {
  WEIR_CO_CHECK(check_position(after));
  co_return co_await worker_->perform<Result<std::vector<LogEntry>>>(
      [&] { return worker_->read(after, limit); });
}

Task<Result<Position>> ObjectLog::tail() {
  co_return co_await worker_->perform<Result<Position>>([&] { return worker_->tail(); });
}

Task<void> ObjectLog::wait_past(Position position, MonoTime deadline) {
  return worker_->wait_past(position, deadline);
}

Task<Result<SnapshotRef>> ObjectLog::latest_snapshot() {
  co_return co_await worker_->perform<Result<SnapshotRef>>(
      [&] { return worker_->latest_snapshot(); });
}

Task<Status> ObjectLog::record_snapshot(SnapshotRef ref) {
  co_return co_await worker_->perform<Status>(
      [&] { return worker_->record_snapshot(std::move(ref)); });
}

Task<Status> ObjectLog::trim(Position upto) {
  co_return co_await worker_->perform<Status>([&] { return worker_->trim(upto); });
}

Task<Result<Uuid>> ObjectLog::cluster_id(Uuid proposal) {
  co_return co_await worker_->perform<Result<Uuid>>([&] { return worker_->cluster_id(proposal); });
}

// wait_past() looks by itself.
Duration ObjectLog::look_interval() const { return std::chrono::minutes(1); }

}  // namespace weir::metadata

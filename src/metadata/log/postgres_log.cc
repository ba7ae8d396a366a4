#include "metadata/log/postgres_log.h"

#include "metadata/log/log_rules.h"
#include "metadata/log/postgres_schema.h"
#include "metadata/log/postgres_worker.h"
#include "runtime/log.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

Result<SnapshotRef> snapshot_of(const PgRows& rows) {
  WEIR_TRY(const Position position, pg_integer(rows, 0, 0));
  WEIR_TRY(const Bytes key, pg_bytes(rows, 0, 1));
  return SnapshotRef{position, std::string(as_text(key))};
}

}  // namespace

PostgresLog::PostgresLog(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
PostgresLog::~PostgresLog() = default;

Result<std::unique_ptr<PostgresLog>> PostgresLog::open(std::string url, Clock& clock,
                                                       PostgresOptions options) {
  auto target = PostgresTarget::parse(std::move(url));
  if (!target) return std::unexpected(std::move(target).error().in("metadata log"));
  auto worker = std::make_unique<Worker>(*std::move(target), clock, options);
  const Status first = worker->wait_first_attempt();
  if (!first && first.error().code == ErrorCode::kInvalid) {
    return std::unexpected(first.error().in("metadata log"));
  }
  return std::unique_ptr<PostgresLog>(new PostgresLog(std::move(worker)));
}

// Not a coroutine: the call begins here, not where it is awaited.
Task<Result<Appended>> PostgresLog::append(Slice entry, Position known) {
  return worker_->append(std::move(entry), known, worker_->incarnation());
}

Task<Result<std::vector<LogEntry>>> PostgresLog::read(Position after, ByteCount limit) {
  WEIR_CO_CHECK(check_position(after));
  PgParams params;
  params.integer(after).integer(static_cast<std::int64_t>(std::min<ByteCount>(limit, 1_GiB)));
  WEIR_CO_TRY(const PgAnswer answer,
              co_await worker_->ask({PgStep::run(kPgRead, std::move(params))}));
  if (answer.empty()) co_return std::vector<LogEntry>();
  const PgRows& rows = answer[0];
  WEIR_CO_TRY(const Position trimmed, pg_integer(rows, 0, 0));
  WEIR_CO_TRY(const Position tail, pg_integer(rows, 0, 1));
  if (after < trimmed) co_return trimmed_away(after, trimmed);
  WEIR_CO_TRY(std::vector<LogEntry> entries, pg_entries(rows, 2, after));
  if (entries.empty() && tail > after) {
    co_return fail(ErrorCode::kCorrupt,
                   fmt::format("postgres: metadata log entry {} is missing", after + 1));
  }
  co_return entries;
}

Task<Result<Position>> PostgresLog::tail() { return worker_->tail(); }

Task<void> PostgresLog::wait_past(Position position, MonoTime deadline) {
  return worker_->wait_past(position, deadline);
}

Task<Result<SnapshotRef>> PostgresLog::latest_snapshot() {
  WEIR_CO_TRY(const PgAnswer answer, co_await worker_->ask({PgStep::run(kPgSnapshot)}));
  if (answer.empty()) co_return SnapshotRef();
  co_return snapshot_of(answer[0]);
}

Task<Status> PostgresLog::record_snapshot(SnapshotRef ref) {
  PgParams params;
  params.integer(ref.position).text(ref.manifest_key);
  // The statement changes nothing where check_snapshot() fails.
  if (ref.manifest_key.empty()) co_return check_snapshot(ref, 0);
  std::vector<PgStep> steps;
  steps.push_back(PgStep::run(kPgSetSnapshot, std::move(params)).then_more());
  steps.push_back(PgStep::run(kPgTail));
  WEIR_CO_TRY(const PgAnswer answer, co_await worker_->ask(std::move(steps)));
  if (answer.empty()) co_return check_snapshot(ref, 0);
  WEIR_CO_TRY(const Position tail, pg_integer(answer[1], 0, 0));
  co_return check_snapshot(ref, tail);
}

// The entries are out of sight with the first step; their deletion gives way to appends between its
// steps. What a crash leaves of them the next trim deletes.
Task<Status> PostgresLog::trim(Position upto) {
  PgParams params;
  params.integer(upto);
  std::vector<PgStep> steps;
  steps.push_back(PgStep::run(kPgSetTrimmed, std::move(params)).then_more());
  steps.push_back(PgStep::run(kPgSnapshot));
  WEIR_CO_TRY(const PgAnswer answer, co_await worker_->ask(std::move(steps)));
  if (answer.empty()) co_return check_trim(upto, {});
  WEIR_CO_TRY(const SnapshotRef latest, snapshot_of(answer[1]));
  WEIR_CO_CHECK(check_trim(upto, latest));
  while (true) {
    WEIR_CO_TRY(const PgAnswer deleted, co_await worker_->ask({PgStep::run(kPgDelete)}));
    if (pg_row_count(deleted[0]) == 0) co_return Status();
  }
}

Task<Result<Uuid>> PostgresLog::cluster_id(Uuid proposal) {
  std::vector<PgStep> steps;
  if (!proposal.is_zero()) {
    PgParams params;
    params.text(proposal.to_string());
    steps.push_back(PgStep::run(kPgSetClusterId, std::move(params)).then_more());
  }
  steps.push_back(PgStep::run(kPgClusterId));
  WEIR_CO_TRY(const PgAnswer answer, co_await worker_->ask(std::move(steps), !proposal.is_zero()));
  if (answer.empty()) co_return Uuid();
  if (pg_row_count(answer.back()) == 1 && pg_is_null(answer.back(), 0, 0)) co_return Uuid();
  WEIR_CO_TRY(const Bytes text, pg_bytes(answer.back(), 0, 0));
  const std::optional<Uuid> id = Uuid::parse(as_text(text));
  if (id) co_return *id;
  co_return fail(ErrorCode::kCorrupt, fmt::format("postgres: cluster id \"{}\"", as_text(text)));
}

std::uint64_t PostgresLog::incarnation() const { return worker_->incarnation(); }

}  // namespace weir::metadata

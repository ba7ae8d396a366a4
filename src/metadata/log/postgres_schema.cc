#include "metadata/log/postgres_schema.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

// What this program writes, and the oldest program that may use it beside this one.
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kOldest = 1;

// One after the other at the start of several brokers. The first number is "Weir"; appends use it
// with the table's number.
constexpr const char* kLockSchema = "SELECT pg_advisory_xact_lock(1466263922, 0)";

constexpr const char* kFindTables =
    "SELECT to_regclass('weir_meta') IS NOT NULL, "
    "coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)";
constexpr const char* kFindVersion = "SELECT version::bigint, oldest::bigint FROM weir_meta";

// EXTERNAL: entries are dense already, compressing them would cost each append.
constexpr const char* kCreateLog =
    "CREATE TABLE IF NOT EXISTS weir_log (position bigint PRIMARY KEY, entry bytea NOT NULL)";
constexpr const char* kStoreAsIs = "ALTER TABLE weir_log ALTER COLUMN entry SET STORAGE EXTERNAL";
constexpr const char* kCreateMeta =
    "CREATE TABLE IF NOT EXISTS weir_meta ("
    "one boolean PRIMARY KEY CHECK (one), "
    "version integer NOT NULL, "
    "oldest integer NOT NULL, "
    "cluster_id text, "
    "trimmed bigint NOT NULL, "
    "snapshot_position bigint NOT NULL, "
    "snapshot_key text NOT NULL)";

// All of an append that happens under the lock, in one call: when it begins, the entries have
// arrived, and its answer is small, so a broker that stops in the middle cannot hold the lock. The
// lock ends with the transaction, after the entries are durable and seen by others; each statement
// of the function sees what was committed before it. A sequence would leave holes, and a counter in
// a row would leave a dead row for each append.
constexpr const char* kCreateAppend = R"(
CREATE OR REPLACE FUNCTION weir_append_1(entries bytea[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  log_id CONSTANT oid := 'weir_log'::regclass::oid;
  first bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(1466263922, log_id::int4);
  SELECT greatest(m.trimmed, (SELECT max(l.position) FROM weir_log l)) + 1
    INTO STRICT first FROM weir_meta m;
  INSERT INTO weir_log (position, entry)
    SELECT first + t.place - 1, t.entry FROM unnest(entries) WITH ORDINALITY AS t(entry, place);
  PERFORM pg_notify('weir_log_' || log_id, (first + cardinality(entries) - 1)::text);
  PERFORM set_config('weir.first', first::text, false);
  RETURN first;
END $$)";

// Only where there is none: several brokers may come here one after the other.
std::string create_row() {
  return fmt::format(
      "INSERT INTO weir_meta VALUES (true, {}, {}, NULL, 0, 0, '') ON CONFLICT DO NOTHING",
      kVersion, kOldest);
}

std::vector<PgStep> creation() {
  std::vector<PgStep> steps;
  for (std::string text :
       {std::string(kLockSchema), std::string(kCreateLog), std::string(kStoreAsIs),
        std::string(kCreateMeta), std::string(kCreateAppend), create_row()}) {
    steps.push_back(PgStep::sql(std::move(text)).then_more());
  }
  steps.back().commit = PgStep::Commit::kHere;
  return steps;
}

constexpr const char* kTail =
    "SELECT greatest(m.trimmed, (SELECT max(l.position) FROM weir_log l)) FROM weir_meta m";

// Entries after $1 that together have at most $2 bytes, and never none if there is one: found one
// after the other, so what is not answered is not looked at. 16384: AnswerEntries has this limit.
std::string entries(std::string_view start, std::string_view condition) {
  return fmt::format(
      "run (position, entry, total, count) AS ("
      "SELECT l.position, l.entry, octet_length(l.entry)::bigint, 1 "
      "FROM {0} s JOIN weir_log l ON l.position = $1::bigint + 1 "
      "WHERE s.trimmed <= $1::bigint{1} "
      "UNION ALL "
      "SELECT l.position, l.entry, r.total + octet_length(l.entry), r.count + 1 "
      "FROM run r JOIN weir_log l ON l.position = r.position + 1 "
      "WHERE r.total + octet_length(l.entry) <= $2::bigint AND r.count < 16384{1})",
      start, condition);
}

std::string read_statement() {
  return fmt::format(
      "WITH RECURSIVE state (trimmed, tail) AS MATERIALIZED ("
      "SELECT m.trimmed, greatest(m.trimmed, (SELECT max(l.position) FROM weir_log l)) "
      "FROM weir_meta m), {} "
      "SELECT s.trimmed, s.tail, r.position, r.entry FROM state s LEFT JOIN run r ON true "
      "ORDER BY r.position",
      entries("state", ""));
}

std::string earlier_statement() {
  return fmt::format(
      "WITH RECURSIVE {} SELECT position, entry FROM run ORDER BY position",
      entries("weir_meta", " AND l.position < current_setting('weir.first')::bigint"));
}

Error no_permission(Error error) { return {ErrorCode::kInvalid, std::move(error.message)}; }

// The server says it in its own words; trying again does not help.
bool is_refusal(const Error& error) {
  return error.message.contains("SQLSTATE 42501") || error.message.contains("SQLSTATE 3F000");
}

// kInvalid: there are none, and cannot be.
Task<Result<bool>> has_tables(PostgresConnection& connection, PgMissing missing) {
  WEIR_CO_TRY(const PgAnswer answer, co_await connection.ask({PgStep::sql(kFindTables)}));
  WEIR_CO_TRY(const bool present, pg_flag(answer[0], 0, 0));
  WEIR_CO_TRY(const bool may_create, pg_flag(answer[0], 0, 1));
  if (!present && missing == PgMissing::kFail) {
    co_return fail(ErrorCode::kUnavailable,
                   "postgres: the tables of the metadata log are gone; waiting for them to be "
                   "restored");
  }
  if (present || may_create) co_return present;
  co_return fail(ErrorCode::kInvalid,
                 "postgres: there are no tables of a metadata log, and the role may not create "
                 "them: grant it CREATE on a schema that is in its search_path");
}

Task<Status> create_tables(PostgresConnection& connection) {
  auto created = co_await connection.ask(creation());
  if (created) co_return Status();
  if (!is_refusal(created.error())) co_return std::unexpected(created.error());
  co_return std::unexpected(no_permission(created.error().in("creating the tables")));
}

Task<Status> check_version(PostgresConnection& connection) {
  WEIR_CO_TRY(const PgAnswer answer, co_await connection.ask({PgStep::sql(kFindVersion)}));
  if (pg_row_count(answer[0]) != 1) {
    co_return fail(ErrorCode::kUnavailable,
                   "postgres: weir_meta has no row: the database is incomplete");
  }
  WEIR_CO_TRY(const std::int64_t version, pg_integer(answer[0], 0, 0));
  WEIR_CO_TRY(const std::int64_t oldest, pg_integer(answer[0], 0, 1));
  if (oldest <= kVersion) co_return Status();
  co_return fail(ErrorCode::kInvalid,
                 fmt::format("postgres: the metadata log has schema {}, for programs that know "
                             "schema {} or later; this one knows {}",
                             version, oldest, kVersion));
}

}  // namespace

std::vector<PgStep> pg_prepare_steps() {
  return {
      PgStep::prepare(kPgAppend, "SELECT weir_append_1($1::bytea[])"),
      PgStep::prepare(kPgEarlier, earlier_statement()),
      PgStep::prepare(kPgRead, read_statement()),
      PgStep::prepare(kPgTail, kTail),
      PgStep::prepare(kPgSnapshot, "SELECT snapshot_position, snapshot_key FROM weir_meta"),
      PgStep::prepare(kPgSetSnapshot,
                      fmt::format("UPDATE weir_meta SET snapshot_position = $1::bigint, "
                                  "snapshot_key = $2::text WHERE snapshot_position < $1::bigint "
                                  "AND $1::bigint <= ({})",
                                  kTail)),
      PgStep::prepare(kPgSetTrimmed,
                      "UPDATE weir_meta SET trimmed = $1::bigint WHERE trimmed < $1::bigint AND "
                      "$1::bigint <= snapshot_position"),
      PgStep::prepare(kPgDelete,
                      "DELETE FROM weir_log WHERE position IN (SELECT l.position FROM weir_log l "
                      "WHERE l.position <= (SELECT m.trimmed FROM weir_meta m) "
                      "ORDER BY l.position LIMIT 128) RETURNING position"),
      PgStep::prepare(kPgClusterId, "SELECT cluster_id FROM weir_meta"),
      PgStep::prepare(kPgSetClusterId,
                      "UPDATE weir_meta SET cluster_id = $1::text WHERE cluster_id IS NULL"),
  };
}

Task<Result<bool>> pg_prepare_schema(PostgresConnection& connection, PgMissing missing) {
  WEIR_CO_TRY(const bool present, co_await has_tables(connection, missing));
  if (!present && missing == PgMissing::kLeave) co_return false;
  if (!present) WEIR_CO_CHECK(co_await create_tables(connection));
  WEIR_CO_CHECK(co_await check_version(connection));
  co_return true;
}

}  // namespace weir::metadata

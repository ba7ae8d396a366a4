#include "metadata/log/postgres_session.h"

#include "runtime/log.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

constexpr std::int64_t kOldestServer = 130000;

// Settings of the session: every statement sees what was committed before it; no statement and no
// wait for a lock outlives the caller's patience; plans stay those that suit a growing log, also
// while the server's statistics are of an empty one.
std::string settings(Duration timeout) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  std::string out = fmt::format(
      "SELECT set_config('statement_timeout', '{}', false), set_config('lock_timeout', '{}', "
      "false)",
      ms, ms * 4 / 5);
  for (const auto& [name, value] :
       {std::pair{"default_transaction_isolation", "read committed"},
        std::pair{"default_transaction_read_only", "off"},
        std::pair{"idle_in_transaction_session_timeout", "5000"},
        std::pair{"client_min_messages", "warning"}, std::pair{"jit", "off"},
        std::pair{"plan_cache_mode", "force_generic_plan"}, std::pair{"enable_seqscan", "off"},
        std::pair{"enable_bitmapscan", "off"}, std::pair{"enable_hashjoin", "off"},
        std::pair{"enable_mergejoin", "off"}}) {
    out += fmt::format(", set_config('{}', '{}', false)", name, value);
  }
  // What check_server() saw holds for the session, whatever the server is told later.
  return out + ", set_config('synchronous_commit', current_setting('synchronous_commit'), false)";
}

constexpr const char* kServer =
    "SELECT current_setting('server_version_num')::bigint, pg_is_in_recovery(), "
    "current_setting('fsync') <> 'off', current_setting('synchronous_commit') <> 'off', "
    "current_setting('server_version')";

Status check_durable(bool fsync, bool synchronous_commit, bool allow_unsafe) {
  if (fsync && synchronous_commit) return {};
  static log::RateLimit limit(std::chrono::minutes(10));
  const char* const what = fsync ? "synchronous_commit" : "fsync";
  if (allow_unsafe) {
    log::warn(limit, "metadata.postgres.unsafe", {{"off", what}});
    return {};
  }
  return fail(ErrorCode::kInvalid,
              fmt::format("postgres: the server has {} = off: what is acknowledged could be lost "
                          "when it crashes. Turn it on, or allow it with "
                          "metadata.log.allow.unsafe=true",
                          what));
}

Task<Status> check_server(PostgresConnection& connection, const PostgresOptions& options) {
  WEIR_CO_TRY(const PgAnswer answer, co_await connection.ask({PgStep::sql(kServer)}));
  const PgRows& row = answer[0];
  WEIR_CO_TRY(const std::int64_t version, pg_integer(row, 0, 0));
  WEIR_CO_TRY(const bool standby, pg_flag(row, 0, 1));
  WEIR_CO_TRY(const bool fsync, pg_flag(row, 0, 2));
  WEIR_CO_TRY(const bool synchronous_commit, pg_flag(row, 0, 3));
  WEIR_CO_TRY(const Bytes name, pg_bytes(row, 0, 4));
  if (version < kOldestServer) {
    co_return fail(ErrorCode::kInvalid,
                   fmt::format("postgres: the server has version {}; the metadata log needs 13 or "
                               "later",
                               as_text(name)));
  }
  if (standby) {
    co_return fail(ErrorCode::kUnavailable,
                   "postgres: the server is a standby, which cannot be written to");
  }
  co_return check_durable(fsync, synchronous_commit, options.allow_unsafe);
}

Task<Status> listen(PostgresConnection& connection) {
  WEIR_CO_TRY(const PgAnswer answer,
              co_await connection.ask({PgStep::sql("SELECT 'weir_log'::regclass::oid::bigint")}));
  WEIR_CO_TRY(const std::int64_t table, pg_integer(answer[0], 0, 0));
  auto listening = co_await connection.ask({PgStep::sql(fmt::format("LISTEN weir_log_{}", table))});
  if (!listening) co_return std::unexpected(listening.error());
  co_return Status();
}

}  // namespace

Task<Result<std::optional<Position>>> pg_begin_session(PostgresConnection& connection,
                                                       const PostgresOptions& options,
                                                       PgMissing missing) {
  // Before the settings: an old server does not know them all.
  WEIR_CO_CHECK(co_await check_server(connection, options));
  WEIR_CO_TRY(const PgAnswer set,
              co_await connection.ask({PgStep::sql(settings(options.patience))}));
  WEIR_CO_TRY(const bool has_tables, co_await pg_prepare_schema(connection, missing));
  if (!has_tables) co_return std::nullopt;
  WEIR_CO_CHECK(co_await listen(connection));
  std::vector<PgStep> steps = pg_prepare_steps();
  steps.push_back(PgStep::run(kPgTail));
  WEIR_CO_TRY(const PgAnswer answer, co_await connection.ask(std::move(steps)));
  co_return pg_integer(answer.back(), 0, 0);
}

}  // namespace weir::metadata

#include "metadata/log/sqlite_db.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace weir::metadata {
namespace {

// Another process writes for about a millisecond, or checkpoints for some: ask often, give up late.
// SQLite's own handler sleeps up to 100 ms at a time.
int wait_for_lock(void* /*context*/, int attempt) {
  constexpr int kFastAttempts = 10;
  constexpr int kAttempts = kFastAttempts + 1250;  // about 5 s
  if (attempt >= kAttempts) return 0;
  sqlite3_sleep(attempt < kFastAttempts ? 1 : 4);
  return 1;
}

ErrorCode code_of(int code) {
  if (code == SQLITE_IOERR_CORRUPTFS) return ErrorCode::kCorrupt;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return ErrorCode::kExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kCorrupt;
    case SQLITE_TOOBIG:
      return ErrorCode::kInvalid;
    case SQLITE_NOMEM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

std::string explain(sqlite3* db, int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk is full";
    case SQLITE_BUSY:
      return "another process has held the lock for 5 s";
    case SQLITE_NOTADB:
      return "this is not an SQLite database";
    case SQLITE_CORRUPT:
      return "the database is damaged";
    default:
      break;
  }
  std::string text = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  const bool by_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  const int system = db != nullptr && by_system ? sqlite3_system_errno(db) : 0;
  if (system != 0) text += fmt::format(" ({})", std::strerror(system));
  return text;
}

// Not a name that SQLite would take for something else than a file: a URI, ":memory:".
std::string file_of(const std::string& path) { return path.starts_with('/') ? path : "./" + path; }

// What is to be done when a database cannot be opened.
std::string hint_for(const std::string& file, MissingLog missing) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!std::filesystem::is_directory(folder, ignored)) {
    return fmt::format("; there is no folder {}: make it, or mount it",
                       folder.lexically_normal().string());
  }
  if (missing == MissingLog::kFail && !std::filesystem::exists(file, ignored)) {
    return "; give the file that a broker wrote (its metadata.log.url)";
  }
  return "";
}

}  // namespace

Error sqlite_error(sqlite3* db, int code) {
  const char* name = db != nullptr ? sqlite3_db_filename(db, "main") : nullptr;
  return {code_of(code), fmt::format("{}: {} (SQLite {})", name != nullptr ? name : "sqlite",
                                     explain(db, code), code)};
}

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement& SqliteStatement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, Bytes value) {
  sqlite3_bind_blob64(statement_.get(), parameter, value.data(), value.size(), SQLITE_STATIC);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), parameter, value.data(), value.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return *this;
}

Result<bool> SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return std::unexpected(sqlite_error(sqlite3_db_handle(statement_.get()), code));
}

std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

Bytes SqliteStatement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view SqliteStatement::text(int column) const { return as_text(blob(column)); }

void SqliteStatement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

Status SqliteStatement::run() {
  SqliteRun run(*this);
  WEIR_TRY(bool row, step());
  while (row) {
    WEIR_TRY(row, step());
  }
  return {};
}

Result<std::int64_t> SqliteStatement::run_for_integer() {
  SqliteRun run(*this);
  WEIR_TRY(const bool row, step());
  if (!row) return fail(ErrorCode::kCorrupt, "a row of the database is missing");
  return integer(0);
}

void SqliteDb::Close::operator()(sqlite3* db) const { sqlite3_close(db); }

Status SqliteDb::check_folder(const std::string& path) {
  const std::string file = file_of(path);
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return fail(ErrorCode::kUnavailable,
              fmt::format("{}: the file cannot be made ({}){}", path, std::strerror(errno),
                          hint_for(file, MissingLog::kCreate)));
}

Result<SqliteDb> SqliteDb::open(const std::string& path, MissingLog missing) {
  const std::string file = file_of(path);
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (missing == MissingLog::kCreate ? SQLITE_OPEN_CREATE : 0);
  SqliteDb out;
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &db, flags, nullptr);
  out.db_.reset(db);
  if (code != SQLITE_OK) {
    Error error = sqlite_error(db, code).in(path);
    if ((code & 0xff) == SQLITE_CANTOPEN) error.message += hint_for(file, missing);
    return std::unexpected(std::move(error));
  }
  sqlite3_busy_handler(db, wait_for_lock, nullptr);
  return out;
}

Result<SqliteStatement> SqliteDb::prepare(std::string_view sql) {
  SqliteStatement out;
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  out.statement_.reset(statement);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(db_.get(), code));
  return out;
}

Status SqliteDb::execute(const char* sql) {
  const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(sqlite_error(db_.get(), code));
  return {};
}

Result<std::string> SqliteDb::query(std::string_view sql) {
  WEIR_TRY(SqliteStatement statement, prepare(sql));
  WEIR_TRY(const bool row, statement.step());
  if (!row) return fail(ErrorCode::kInternal, fmt::format("no answer to {}", sql));
  return std::string(statement.text(0));
}

Result<std::string> SqliteDb::query_until_free(std::string_view sql) {
  for (int attempt = 0;; ++attempt) {
    Result<std::string> result = query(sql);
    const bool busy = !result && (sqlite3_errcode(db_.get()) & 0xff) == SQLITE_BUSY;
    if (!busy || wait_for_lock(nullptr, attempt) == 0) return result;
  }
}

bool SqliteDb::in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

}  // namespace weir::metadata

#include "metadata/log/sqlite_file.h"

#include "metadata/log/log_rules.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>

namespace weir::metadata {
namespace {

constexpr std::int64_t kApplicationId = 0x57656972;  // "Weir"
constexpr std::int64_t kSchemaVersion = 1;

// 8 KiB pages write the fewest bytes for entries between 1 byte and 30 KB
// (bench/metadata_log_bench.cc).
constexpr const char* kBeforeCreation = "PRAGMA page_size = 8192";

// secure_delete would write zeros over every trimmed entry. Reads are not mapped: an I/O error
// would be a signal.
constexpr const char* kSettings =
    "PRAGMA synchronous = FULL;"
    "PRAGMA secure_delete = OFF;"
    "PRAGMA mmap_size = 0;"
    "PRAGMA wal_autocheckpoint = 0;"
    "PRAGMA journal_size_limit = 67108864;"
    "PRAGMA cache_size = -8192;"
    "PRAGMA trusted_schema = OFF";

constexpr const char* kTables =
    "CREATE TABLE log (position INTEGER PRIMARY KEY, entry BLOB NOT NULL) STRICT;"
    "CREATE TABLE meta ("
    "  only INTEGER PRIMARY KEY CHECK (only = 1),"
    "  cluster_id TEXT,"
    "  trimmed INTEGER NOT NULL,"
    "  snapshot_position INTEGER NOT NULL,"
    "  snapshot_key TEXT NOT NULL) STRICT;"
    "INSERT INTO meta VALUES (1, NULL, 0, 0, '')";

// A checkpoint writes and syncs what the journal holds; until then appends wait. So: small ones
// when nothing waits, larger ones under load, and when others' commits always come in between, one
// that keeps them out.
constexpr std::int64_t kIdleCheckpointBytes = 1 << 20;
constexpr std::int64_t kBusyCheckpointBytes = 4 << 20;
constexpr std::int64_t kMaxJournalBytes = 64 << 20;

// One step of deletion: a few milliseconds.
constexpr std::int64_t kDeleteBytes = 4 << 20;

}  // namespace

SqliteFile::SqliteFile(std::string path, SqliteDb db)
    : path_(std::move(path)), db_(std::move(db)) {}

Result<std::unique_ptr<SqliteFile>> SqliteFile::open(std::string path, MissingLog missing) {
  WEIR_TRY(SqliteDb db, SqliteDb::open(path, missing));
  auto file = std::unique_ptr<SqliteFile>(new SqliteFile(std::move(path), std::move(db)));
  WEIR_CHECK(file->remember_identity());
  WEIR_CHECK(file->prepare_tables(missing));
  WEIR_CHECK(file->prepare_statements());
  sqlite3_wal_hook(
      file->db_.handle(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<SqliteFile*>(self)->journal_pages_ = pages;
        return SQLITE_OK;
      },
      file.get());
  return file;
}

bool SqliteFile::is_begun(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) return info.st_size > 0;
  // What else is wrong, opening it tells.
  return errno != ENOENT;
}

Status SqliteFile::remember_identity() {
  struct stat info{};
  if (::stat(path_.c_str(), &info) != 0) {
    return fail(ErrorCode::kUnavailable, fmt::format("metadata log file {} cannot be read", path_));
  }
  device_ = info.st_dev;
  inode_ = info.st_ino;
  return {};
}

bool SqliteFile::is_current() const {
  struct stat info{};
  return ::stat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

void SqliteFile::keep_journal() {
  sqlite3_db_config(db_.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

Result<bool> SqliteFile::has_tables() {
  // One look at both: another process may be making the tables.
  WEIR_CHECK(db_.execute("BEGIN"));
  auto tables = db_.query("SELECT count(*) FROM sqlite_schema");
  auto id = db_.query("PRAGMA application_id");
  WEIR_CHECK(db_.execute("COMMIT"));
  if (!tables) return std::unexpected(std::move(tables).error());
  if (!id) return std::unexpected(std::move(id).error());
  if (*tables == "0") return false;
  if (*id == std::to_string(kApplicationId)) return true;
  return fail(
      ErrorCode::kInvalid,
      fmt::format("{} is an SQLite database of another program, not a metadata log", path_));
}

Status SqliteFile::prepare_tables(MissingLog missing) {
  WEIR_TRY(const bool present, has_tables());
  if (!present && missing == MissingLog::kFail) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{} holds no metadata log: give the file that a broker wrote", path_));
  }
  if (!present) WEIR_CHECK(db_.execute(kBeforeCreation));
  WEIR_TRY(const std::string mode, db_.query_until_free("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("{} cannot have a write-ahead journal (journal mode {}): it must lie on a "
                    "local file system",
                    path_, mode));
  }
  WEIR_CHECK(db_.execute(kSettings));
  if (!present) WEIR_CHECK(create_tables());
  WEIR_TRY(const std::string version, db_.query("PRAGMA user_version"));
  if (version != std::to_string(kSchemaVersion)) {
    return fail(ErrorCode::kInvalid, fmt::format("{} has the metadata log schema {}, this program "
                                                 "knows schema {}: use the program that wrote it",
                                                 path_, version, kSchemaVersion));
  }
  WEIR_TRY(const std::string page_size, db_.query("PRAGMA page_size"));
  page_bytes_ = std::stoi(page_size);
  return {};
}

Status SqliteFile::create_tables() {
  WEIR_TRY(begin_write_, db_.prepare("BEGIN IMMEDIATE"));
  WEIR_TRY(commit_, db_.prepare("COMMIT"));
  return transact(begin_write_, [&]() -> Status {
    // Another process may have been faster.
    WEIR_TRY(const std::string tables, db_.query("SELECT count(*) FROM sqlite_schema"));
    if (tables != "0") return {};
    WEIR_CHECK(db_.execute(kTables));
    WEIR_CHECK(db_.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str()));
    return db_.execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
  });
}

Status SqliteFile::prepare_statements() {
  struct Source {
    SqliteStatement* statement;
    const char* sql;
  };
  const Source sources[] = {
      {&begin_write_, "BEGIN IMMEDIATE"},
      {&begin_read_, "BEGIN"},
      {&commit_, "COMMIT"},
      {&insert_, "INSERT INTO log VALUES (?1, ?2)"},
      {&tail_, "SELECT coalesce((SELECT max(position) FROM log), trimmed) FROM meta"},
      {&trimmed_, "SELECT trimmed FROM meta"},
      {&read_,
       "SELECT position, entry FROM log WHERE position > ?1 AND position < ?2 ORDER BY position"},
      {&snapshot_, "SELECT snapshot_position, snapshot_key FROM meta"},
      {&set_snapshot_, "UPDATE meta SET snapshot_position = ?1, snapshot_key = ?2"},
      {&set_trimmed_, "UPDATE meta SET trimmed = ?1 WHERE trimmed < ?1"},
      {&lengths_,
       "SELECT position, length(entry) FROM log WHERE position <= (SELECT trimmed FROM meta) "
       "ORDER BY position LIMIT 4096"},
      {&delete_, "DELETE FROM log WHERE position <= ?1"},
      {&cluster_id_, "SELECT coalesce(cluster_id, '') FROM meta"},
      {&set_cluster_id_, "UPDATE meta SET cluster_id = ?1"},
  };
  for (const Source& source : sources) {
    WEIR_TRY(*source.statement, db_.prepare(source.sql));
  }
  return {};
}

template <typename F>
auto SqliteFile::transact(SqliteStatement& begin, F body) -> decltype(body()) {
  if (auto begun = begin.run(); !begun) return std::unexpected(std::move(begun).error());
  auto result = body();
  if (!result) return std::unexpected(roll_back(std::move(result).error()));
  if (auto committed = commit_.run(); !committed) {
    return std::unexpected(roll_back(std::move(committed).error()));
  }
  return result;
}

Error SqliteFile::roll_back(Error error) {
  // SQLite itself has rolled back after some errors.
  if (db_.in_transaction() && !db_.execute("ROLLBACK")) {
    error.message += "; and the transaction could not be rolled back";
  }
  return error;
}

Result<Position> SqliteFile::append(std::span<const Slice> entries) {
  auto appended = transact(begin_write_, [&]() -> Result<Position> {
    WEIR_TRY(Position last, tail_.run_for_integer());
    for (const Slice& entry : entries) {
      WEIR_CHECK(insert_.bind(1, ++last).bind(2, entry.bytes()).run());
    }
    return last;
  });
  // SQLITE_FULL comes from the write of a frame of the journal. The last frame makes the commit, so
  // there is none, and what was written before it counts for nothing. Errors of the flush, and what
  // follows it, have other codes.
  const bool is_full = !appended && appended.error().code == ErrorCode::kExhausted;
  if (is_full && !db_.in_transaction()) appended.error().code = ErrorCode::kRefused;
  return appended;
}

Result<std::vector<LogEntry>> SqliteFile::read(Position after, Position before, ByteCount limit) {
  return transact(begin_read_, [&]() -> Result<std::vector<LogEntry>> {
    WEIR_TRY(const Position trimmed, trimmed_.run_for_integer());
    if (after < trimmed) return trimmed_away(after, trimmed);
    AnswerEntries answer(limit);
    SqliteRun run(read_);
    read_.bind(1, after).bind(2, before);
    for (Position expected = after + 1;; ++expected) {
      WEIR_TRY(const bool row, read_.step());
      if (!row) break;
      const Position position = read_.integer(0);
      if (position != expected) {
        return fail(ErrorCode::kCorrupt, fmt::format("{}: entry {} is missing", path_, expected));
      }
      const Bytes entry = read_.blob(1);
      if (!answer.takes(entry.size())) break;
      answer.add({position, Slice::copy_of(entry)});
    }
    return answer.release();
  });
}

Result<Position> SqliteFile::tail() { return tail_.run_for_integer(); }

Result<SnapshotRef> SqliteFile::latest_snapshot() {
  SqliteRun run(snapshot_);
  WEIR_TRY(const bool row, snapshot_.step());
  if (!row) return fail(ErrorCode::kCorrupt, fmt::format("{}: the row of meta is missing", path_));
  return SnapshotRef{snapshot_.integer(0), std::string(snapshot_.text(1))};
}

Status SqliteFile::record_snapshot(const SnapshotRef& ref) {
  return transact(begin_write_, [&]() -> Status {
    WEIR_TRY(const Position last, tail_.run_for_integer());
    WEIR_CHECK(check_snapshot(ref, last));
    WEIR_TRY(const SnapshotRef latest, latest_snapshot());
    if (ref.position <= latest.position) return {};
    return set_snapshot_.bind(1, ref.position).bind(2, std::string_view(ref.manifest_key)).run();
  });
}

Status SqliteFile::set_trimmed(Position upto) {
  return transact(begin_write_, [&]() -> Status {
    WEIR_TRY(const SnapshotRef latest, latest_snapshot());
    WEIR_CHECK(check_trim(upto, latest));
    return set_trimmed_.bind(1, upto).run();
  });
}

Result<bool> SqliteFile::delete_trimmed() {
  return transact(begin_write_, [&]() -> Result<bool> {
    Position upto = 0;
    {
      SqliteRun run(lengths_);
      for (std::int64_t bytes = 0; bytes < kDeleteBytes; bytes += lengths_.integer(1)) {
        WEIR_TRY(const bool row, lengths_.step());
        if (!row) break;
        upto = lengths_.integer(0);
      }
    }
    if (upto == 0) return false;
    WEIR_CHECK(delete_.bind(1, upto).run());
    return true;
  });
}

Result<Uuid> SqliteFile::cluster_id(Uuid proposal) {
  return transact(proposal.is_zero() ? begin_read_ : begin_write_, [&]() -> Result<Uuid> {
    std::string stored;
    {
      SqliteRun run(cluster_id_);
      WEIR_TRY(const bool row, cluster_id_.step());
      if (row) stored = cluster_id_.text(0);
    }
    if (stored.empty()) {
      if (proposal.is_zero()) return proposal;
      const std::string text = proposal.to_string();
      WEIR_CHECK(set_cluster_id_.bind(1, std::string_view(text)).run());
      return proposal;
    }
    const std::optional<Uuid> id = Uuid::parse(stored);
    if (!id) return fail(ErrorCode::kCorrupt, fmt::format("{}: cluster id \"{}\"", path_, stored));
    return *id;
  });
}

Status SqliteFile::checkpoint(bool idle) {
  const std::int64_t journal = std::int64_t{journal_pages_} * page_bytes_;
  if (journal < (idle ? kIdleCheckpointBytes : kBusyCheckpointBytes)) {
    next_checkpoint_at_ = 0;
    return {};
  }
  if (journal_pages_ < next_checkpoint_at_) return {};
  const int mode =
      journal < kMaxJournalBytes ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_RESTART;
  int pages = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(db_.handle(), nullptr, mode, &pages, &moved);
  // Complete: the next commit starts the journal anew. Otherwise a reader stood in the way: not
  // again at once.
  if (code == SQLITE_OK && pages == moved) {
    journal_pages_ = 0;
  } else {
    next_checkpoint_at_ = journal_pages_ + static_cast<int>(kIdleCheckpointBytes) / page_bytes_;
  }
  if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY) return {};
  return std::unexpected(sqlite_error(db_.handle(), code));
}

}  // namespace weir::metadata

// One SQLite connection and its statements, with errors as values. Internal to the sqlite backend.
// Every call blocks; one thread at a time. A statement must die before its connection.
//
// Error codes: kExhausted (disk full), kCorrupt (damaged, or not a database), kUnavailable (I/O
// errors, locks held by other processes, permissions: whatever may end), kInvalid (value too
// large), kInternal (a wrong statement).
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "metadata/log/missing_log.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace weir::metadata {

class SqliteStatement {
 public:
  SqliteStatement() = default;

  SqliteStatement& bind(int parameter, std::int64_t value);
  // The bytes must live until reset().
  SqliteStatement& bind(int parameter, Bytes value);
  SqliteStatement& bind(int parameter, std::string_view value);

  // True: there is a row. The columns are valid until the next call.
  [[nodiscard]] Result<bool> step();
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] Bytes blob(int column) const;
  [[nodiscard]] std::string_view text(int column) const;
  // Ends the run: locks are released, the statement can be run again.
  void reset();

  // step() for a statement without rows, and reset().
  [[nodiscard]] Status run();
  // The first column of its only row, and reset().
  [[nodiscard]] Result<std::int64_t> run_for_integer();

 private:
  friend class SqliteDb;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Resets a statement at the end of its scope.
class SqliteRun {
 public:
  explicit SqliteRun(SqliteStatement& statement) : statement_(statement) {}
  ~SqliteRun() { statement_.reset(); }
  SqliteRun(const SqliteRun&) = delete;
  SqliteRun& operator=(const SqliteRun&) = delete;

 private:
  SqliteStatement& statement_;
};

class SqliteDb {
 public:
  [[nodiscard]] static Result<SqliteDb> open(const std::string& path, MissingLog missing);

  // Whether open() could make a file there, as far as that can be told without doing it.
  [[nodiscard]] static Status check_folder(const std::string& path);

  [[nodiscard]] Result<SqliteStatement> prepare(std::string_view sql);
  // One or several statements without results.
  [[nodiscard]] Status execute(const char* sql);
  // The only value of a query, as text.
  [[nodiscard]] Result<std::string> query(std::string_view sql);
  // The same, once more whenever SQLite gives up at once on a lock for which it cannot wait.
  [[nodiscard]] Result<std::string> query_until_free(std::string_view sql);
  [[nodiscard]] bool in_transaction() const;
  [[nodiscard]] sqlite3* handle() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  std::unique_ptr<sqlite3, Close> db_;
};

// The error of the connection's last call.
[[nodiscard]] Error sqlite_error(sqlite3* db, int code);

}  // namespace weir::metadata

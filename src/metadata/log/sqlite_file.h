// The database file of the sqlite backend: what the metadata log asks of it, as blocking calls of
// one connection. Internal to SqliteLog, which calls it from one thread at a time. The tables:
// docs/formats/metadata-sqlite.md.
//
// Write-ahead journal and synchronous=FULL: append() returns after one fsync. Checkpoints, which
// move the journal into the database, are made by checkpoint() alone, between appends. Several
// processes may use one file.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/log/sqlite_db.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weir::metadata {

class SqliteFile {
 public:
  // Opens the database and creates its tables where there are none; kFail: the file must exist.
  [[nodiscard]] static Result<std::unique_ptr<SqliteFile>> open(std::string path,
                                                                MissingLog missing);
  // False: there is no file at `path`, or an empty one, so that a log can begin there.
  [[nodiscard]] static bool is_begun(const std::string& path);
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  // False: the path names another file, or none, since it was opened (an operator restored a
  // backup). Writes would be lost.
  [[nodiscard]] bool is_current() const;

  // Its end leaves the journal as it is: what is in it may not belong to what the file holds now.
  void keep_journal();

  // All of them, in one transaction. The position of the last.
  [[nodiscard]] Result<Position> append(std::span<const Slice> entries);
  // Entries in (after, before), up to `limit` bytes, as MetadataLog::read.
  [[nodiscard]] Result<std::vector<LogEntry>> read(Position after, Position before,
                                                   ByteCount limit);
  [[nodiscard]] Result<Position> tail();
  [[nodiscard]] Result<SnapshotRef> latest_snapshot();
  [[nodiscard]] Status record_snapshot(const SnapshotRef& ref);
  [[nodiscard]] Status set_trimmed(Position upto);
  // Deletes some of the trimmed entries, as much as fits in one short transaction. False: none are
  // left.
  [[nodiscard]] Result<bool> delete_trimmed();
  [[nodiscard]] Result<Uuid> cluster_id(Uuid proposal);
  // Moves the journal into the database when it is long; sooner when nothing waits.
  [[nodiscard]] Status checkpoint(bool idle);

 private:
  SqliteFile(std::string path, SqliteDb db);

  [[nodiscard]] Result<bool> has_tables();
  [[nodiscard]] Status prepare_tables(MissingLog missing);
  [[nodiscard]] Status create_tables();
  [[nodiscard]] Status prepare_statements();
  [[nodiscard]] Status remember_identity();
  // Runs `body` between BEGIN IMMEDIATE (or a read transaction) and COMMIT; an error of either
  // rolls back.
  template <typename F>
  auto transact(SqliteStatement& begin, F body) -> decltype(body());
  [[nodiscard]] Error roll_back(Error error);

  std::string path_;
  SqliteDb db_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  int page_bytes_ = 0;
  int journal_pages_ = 0;       // after the last commit
  int next_checkpoint_at_ = 0;  // pages; grows when a reader of another process hinders one
  SqliteStatement begin_write_, begin_read_, commit_, insert_, tail_, trimmed_, read_, snapshot_,
      set_snapshot_, set_trimmed_, lengths_, delete_, cluster_id_, set_cluster_id_;
};

}  // namespace weir::metadata

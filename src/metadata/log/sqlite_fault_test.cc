// The disk under the sqlite backend misbehaves: a VFS (SQLite's own interface to files) between
// SQLite and the real one counts calls and fails the ones that a test names.
#include "metadata/log/sqlite_log.h"
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstring>
#include <filesystem>
#include <map>

namespace weir::metadata {
namespace {

// What the disk does. One test at a time, so it can be global, as SQLite's callbacks need it.
struct Disk {
  std::atomic<int> calls = 0;                 // writes, syncs and truncations so far
  std::atomic<int> fail_at = 0;               // this call fails, 0: none
  std::atomic<bool> fail_from_there = false;  // and all after it
  std::atomic<int> code = SQLITE_IOERR_WRITE;
  std::atomic<int> journal_syncs = 0;
  std::atomic<int> database_syncs = 0;
  std::atomic<bool> journal_unsynced = false;
  std::atomic<int> failures = 0;

  // SQLITE_OK, or the error that this call is to give.
  int next_call() {
    const int call = ++calls;
    const bool fails = fail_at != 0 && (fail_from_there ? call >= fail_at : call == fail_at);
    if (fails) ++failures;
    return fails ? code.load() : SQLITE_OK;
  }
};

Disk* disk = nullptr;
sqlite3_vfs* real_vfs = nullptr;

// SQLite allocates szOsFile bytes: this, and the real file behind it.
struct File {
  sqlite3_file base;
  bool is_journal;
  [[nodiscard]] sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
static_assert(sizeof(File) % alignof(std::max_align_t) == 0);

File* file_of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
const sqlite3_io_methods* real_methods(sqlite3_file* file) {
  return file_of(file)->real()->pMethods;
}

// A method that only passes its call on.
template <auto kMethod, typename... Args>
int pass(sqlite3_file* file, Args... args) {
  return (real_methods(file)->*kMethod)(file_of(file)->real(), args...);
}

int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  if (const int code = disk->next_call(); code != SQLITE_OK) return code;
  if (file_of(file)->is_journal) disk->journal_unsynced = true;
  return real_methods(file)->xWrite(file_of(file)->real(), data, size, at);
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = disk->next_call(); code != SQLITE_OK) return code;
  return real_methods(file)->xTruncate(file_of(file)->real(), size);
}

// Nothing here crashes: that a sync was asked for is all that counts.
int sync(sqlite3_file* file, int /*flags*/) {
  if (const int code = disk->next_call(); code != SQLITE_OK) return code;
  if (file_of(file)->is_journal) {
    disk->journal_unsynced = false;
    ++disk->journal_syncs;
  } else {
    ++disk->database_syncs;
  }
  return SQLITE_OK;
}

void barrier(sqlite3_file* file) { real_methods(file)->xShmBarrier(file_of(file)->real()); }

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 2,
    .xClose = pass<&sqlite3_io_methods::xClose>,
    .xRead = pass<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = pass<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
    .xLock = pass<&sqlite3_io_methods::xLock, int>,
    .xUnlock = pass<&sqlite3_io_methods::xUnlock, int>,
    .xCheckReservedLock = pass<&sqlite3_io_methods::xCheckReservedLock, int*>,
    .xFileControl = pass<&sqlite3_io_methods::xFileControl, int, void*>,
    .xSectorSize = pass<&sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = pass<&sqlite3_io_methods::xDeviceCharacteristics>,
    .xShmMap = pass<&sqlite3_io_methods::xShmMap, int, int, int, void volatile**>,
    .xShmLock = pass<&sqlite3_io_methods::xShmLock, int, int, int>,
    .xShmBarrier = barrier,
    .xShmUnmap = pass<&sqlite3_io_methods::xShmUnmap, int>,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* out, int flags,
              int* out_flags) {
  File* file = file_of(out);
  file->base.pMethods = nullptr;
  file->is_journal = (flags & SQLITE_OPEN_WAL) != 0;
  const int code = real_vfs->xOpen(real_vfs, name, file->real(), flags, out_flags);
  if (file->real()->pMethods != nullptr) file->base.pMethods = &kMethods;
  return code;
}

class SqliteFaultTest : public ::testing::Test {
 protected:
  SqliteFaultTest() {
    real_vfs = sqlite3_vfs_find(nullptr);
    vfs_ = *real_vfs;
    vfs_.zName = "weir-fault-test";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_vfs->szOsFile;
    vfs_.xOpen = open_file;
    disk = &disk_;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~SqliteFaultTest() override {
    log_.reset();
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_vfs, 1);
  }

  void open(const std::string& name = "metadata.db") {
    log_.reset();
    auto log = SqliteLog::open((folder_.path() / name).string(), clock_);
    ASSERT_TRUE(log) << log.error().to_string();
    log_ = std::move(*log);
  }
  template <typename T>
  T run(Task<T> task) {
    return run_task(loop_, std::move(task));
  }
  Result<Appended> append(const std::string& entry) {
    return run(log_->append(Slice::copy_of(entry), 1'000'000));
  }
  // All entries, as position → bytes.
  std::map<Position, std::string> stored() {
    std::map<Position, std::string> out;
    auto read = run(log_->read(0, 1_GiB));
    EXPECT_TRUE(read) << read.error().to_string();
    if (!read) return out;
    for (const LogEntry& entry : *read) out[entry.position] = as_text(entry.bytes.bytes());
    return out;
  }

  sqlite3_vfs vfs_{};
  Disk disk_;
  TemporaryFolder folder_;
  ManualClock clock_;
  boost::asio::io_context loop_;
  std::unique_ptr<SqliteLog> log_;
};

TEST_F(SqliteFaultTest, AnAppendIsSyncedOnceAndBeforeItsAnswer) {
  open();
  ASSERT_TRUE(append("first"));
  for (const std::size_t size : {1, 30'000}) {
    for (int i = 0; i < 8; ++i) {
      disk_.journal_syncs = 0;
      disk_.database_syncs = 0;
      ASSERT_TRUE(append(std::string(size, 'x')));
      EXPECT_FALSE(disk_.journal_unsynced);
      EXPECT_EQ(disk_.journal_syncs, 1);
      EXPECT_EQ(disk_.database_syncs, 0);  // too early for a checkpoint
    }
  }
}

TEST_F(SqliteFaultTest, AFullDiskLeavesNothingAndIsOverWhenThereIsRoom) {
  open();
  ASSERT_TRUE(append("a"));
  disk_.code = SQLITE_FULL;
  disk_.fail_at = 1;
  disk_.fail_from_there = true;
  for (int i = 0; i < 3; ++i) {
    auto appended = append(std::string(100'000, 'x'));
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code, ErrorCode::kRefused);  // and may be answered so
    EXPECT_NE(appended.error().message.find("the disk is full"), std::string::npos);
    EXPECT_NE(appended.error().message.find("metadata.db"), std::string::npos);
  }
  EXPECT_EQ(run(log_->tail()).value(), 1);
  EXPECT_EQ(stored().size(), 1U);
  EXPECT_FALSE(run(log_->record_snapshot({1, "snapshots/1"})));
  disk_.fail_at = 0;
  EXPECT_EQ(append("b").value().position, 2);
  open();
  EXPECT_EQ(stored(), (std::map<Position, std::string>{{1, "a"}, {2, "b"}}));
}

TEST_F(SqliteFaultTest, AFailedSyncLeavesTheOutcomeOpen) {
  open();
  ASSERT_TRUE(append("a"));
  disk_.calls = 0;
  ASSERT_TRUE(append("b"));
  disk_.fail_at = disk_.calls * 2;  // the last call of the next append of this size: its sync
  disk_.code = SQLITE_IOERR_FSYNC;
  auto appended = append("c");
  ASSERT_EQ(disk_.failures, 1);
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(append("d").value().position, run(log_->tail()).value());
}

// Fails each call in turn, in a run that appends, checkpoints, records a snapshot and trims. What
// was answered stands, what was not stands once or not at all, and the next call after the fault
// works.
TEST_F(SqliteFaultTest, AnyFailingCallIsAnErrorAndNoMore) {
  const std::string padding(150'000, 'p');
  int at = 1;
  // Every call at first, then every 17th: the later ones are much the same.
  for (bool failed = true; failed; at += at < 40 ? 1 : 17) {
    open("run" + std::to_string(at) + ".db");
    disk_.calls = 0;
    disk_.failures = 0;
    disk_.fail_at = at;
    disk_.code = at % 3 == 0 ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    std::map<std::string, int> answered;
    Position last = 0;
    for (int i = 0; i < 9; ++i) {
      const std::string entry = std::to_string(i) + ":" + padding;
      auto appended = append(entry);
      if (!appended) appended = append(entry);  // as a broker does
      ASSERT_TRUE(appended) << "call " << at << ": " << appended.error().to_string();
      ASSERT_GT(appended->position, last);
      last = appended->position;
      ++answered[entry];
    }
    const SnapshotRef ref{last, "snapshots/last"};
    if (!run(log_->record_snapshot(ref))) ASSERT_TRUE(run(log_->record_snapshot(ref))) << at;
    const auto entries = stored();
    failed = disk_.failures > 0;
    disk_.fail_at = 0;
    std::map<std::string, int> times;
    for (const auto& [position, entry] : entries) ++times[entry];
    for (const auto& [entry, count] : answered) ASSERT_GE(times[entry], 1) << "call " << at;
    ASSERT_LE(entries.size(), answered.size() + 1) << "call " << at;
    open("run" + std::to_string(at) + ".db");
    ASSERT_EQ(stored(), entries) << "call " << at;
    log_.reset();
    std::filesystem::remove(folder_.path() / ("run" + std::to_string(at) + ".db"));
  }
  EXPECT_GT(at, 100);
}

TEST_F(SqliteFaultTest, AFailingTrimIsFinishedLater) {
  int at = 1;
  for (bool failed = true; failed; ++at) {
    open("trim" + std::to_string(at) + ".db");
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(append(std::string(10'000, 'x')));
    ASSERT_TRUE(run(log_->record_snapshot({25, "snapshots/25"})));
    disk_.calls = 0;
    disk_.failures = 0;
    disk_.fail_at = at;
    auto trimmed = run(log_->trim(20));
    failed = disk_.failures > 0;
    disk_.fail_at = 0;
    EXPECT_EQ(trimmed.has_value(), !failed) << at;
    ASSERT_TRUE(run(log_->trim(20))) << at;
    EXPECT_EQ(run(log_->read(20, 1_MiB)).value().size(), 10U);
    EXPECT_EQ(run(log_->read(19, 1_MiB)).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(append("y").value().position, 31);
  }
  EXPECT_GT(at, 4);
}

}  // namespace
}  // namespace weir::metadata

#include "metadata/log/sqlite_log.h"

#include "metadata/log/metadata_log_contract.h"
#include "metadata/log/open_metadata_log.h"
#include "metadata/store_claim.h"
#include "metadata/store_marker.h"
#include "runtime/temporary_folder.h"
#include "storage/memory_store.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace weir::metadata {
namespace {

class SqliteUnderTest final : public LogUnderTest {
 public:
  std::shared_ptr<MetadataLog> open(Clock& clock) override {
    return SqliteLog::open((folder_.path() / "metadata.db").string(), clock).value();
  }

 private:
  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, MetadataLogContract,
                         ::testing::Values([] { return std::make_unique<SqliteUnderTest>(); }));

class SqliteLogTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_.path() / "metadata.db").string(); }
  std::unique_ptr<SqliteLog> open() {
    auto log = SqliteLog::open(path(), clock_);
    EXPECT_TRUE(log) << log.error().to_string();
    return log ? std::move(*log) : nullptr;
  }
  template <typename T>
  T run(Task<T> task) {
    return run_task(loop_, std::move(task));
  }
  Position append(SqliteLog& log, std::string_view entry) {
    auto appended = run(log.append(Slice::copy_of(entry), 0));
    EXPECT_TRUE(appended) << appended.error().to_string();
    return appended ? appended->position : -1;
  }
  // At once, so that they share transactions. The position of the last.
  Position append_together(SqliteLog& log, int count, const std::string& entry) {
    const Slice slice = Slice::copy_of(entry);
    Position last = 0;
    for (int i = 0; i < count; ++i) {
      boost::asio::co_spawn(loop_, log.append(slice, 1'000'000),
                            [&](const std::exception_ptr&, const Result<Appended>& appended) {
                              EXPECT_TRUE(appended) << appended.error().to_string();
                              if (appended) last = std::max(last, appended->position);
                            });
    }
    loop_.restart();
    loop_.run();
    return last;
  }
  // With a connection of its own, as another program would.
  void sql(const std::string& text) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  // While another program holds the lock: the first append waits for it, the others gather behind.
  void while_locked(const std::function<void()>& body) const {
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    body();
    EXPECT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(other);
  }
  // An operator makes a backup, and puts it back while the broker runs.
  std::string back_up() const {
    const std::string backup = (folder_.path() / "backup.db").string();
    sql("VACUUM INTO '" + backup + "'");
    return backup;
  }
  void remove_journal() const {
    std::filesystem::remove(path() + "-wal");
    std::filesystem::remove(path() + "-shm");
  }
  void put_back() const {
    remove_journal();
    std::filesystem::rename(folder_.path() / "backup.db", path());
  }
  [[nodiscard]] Error open_error() {
    auto log = SqliteLog::open(path(), clock_);
    EXPECT_FALSE(log);
    return log ? Error() : log.error();
  }

  TemporaryFolder folder_;
  ManualClock clock_;
  boost::asio::io_context loop_;
};

TEST_F(SqliteLogTest, KeepsEverythingFromOneOpeningToTheNext) {
  {
    auto log = open();
    for (const char* entry : {"a", "b", "c"}) append(*log, entry);
    ASSERT_TRUE(run(log->record_snapshot({2, "snapshots/2"})));
    ASSERT_TRUE(run(log->trim(1)));
    ASSERT_TRUE(run(log->cluster_id({7, 8})));
  }
  auto log = open();
  EXPECT_EQ(run(log->tail()).value(), 3);
  EXPECT_EQ(run(log->read(1, 1_MiB)).value().size(), 2U);
  EXPECT_EQ(run(log->read(0, 1_MiB)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(run(log->latest_snapshot()).value().manifest_key, "snapshots/2");
  EXPECT_EQ(run(log->cluster_id({9, 9})).value(), (Uuid{7, 8}));
  EXPECT_EQ(append(*log, "d"), 4);
}

TEST_F(SqliteLogTest, AppendsThatWaitTogetherShareATransaction) {
  auto log = open();
  constexpr int kAppends = 200;
  int done = 0;
  while_locked([&] {
    for (int i = 0; i < kAppends; ++i) {
      boost::asio::co_spawn(loop_, log->append(Slice::copy_of("x"), i),
                            [&](const std::exception_ptr&, const Result<Appended>& appended) {
                              done += appended.has_value() ? 1 : 0;
                            });
    }
    loop_.restart();
    loop_.poll();
  });
  loop_.restart();
  loop_.run();
  EXPECT_EQ(done, kAppends);
  // Frames of the journal: a transaction of one small entry writes 2 pages at least.
  const auto journal = std::filesystem::file_size(path() + "-wal");
  EXPECT_LT(journal, 10U * 8192U);
}

TEST_F(SqliteLogTest, ThrottlesWhenTooManyAppendsWait) {
  auto log = open();
  constexpr int kAppends = 40'000;
  const Slice entry = Slice::copy_of("x");
  int done = 0;
  int throttled = 0;
  while_locked([&] {
    for (int i = 0; i < kAppends; ++i) {
      boost::asio::co_spawn(loop_, log->append(entry, kAppends),
                            [&](const std::exception_ptr&, const Result<Appended>& appended) {
                              const bool busy =
                                  !appended && appended.error().code == ErrorCode::kThrottled;
                              (busy ? throttled : done) += 1;
                            });
    }
    loop_.restart();
    loop_.poll();
  });
  loop_.restart();
  loop_.run();
  EXPECT_GE(throttled, 1);
  EXPECT_EQ(done + throttled, kAppends);
  EXPECT_EQ(run(log->tail()).value(), done);
  append(*log, "y");
}

TEST_F(SqliteLogTest, TheFileDoesNotGrowWhenTheLogIsTrimmed) {
  auto log = open();
  const std::string entry(30'000, 'e');
  std::uintmax_t size_after_first = 0;
  for (int round = 0; round < 6; ++round) {
    const Position last = append_together(*log, 300, entry);
    ASSERT_TRUE(run(log->record_snapshot({last, "snapshots/s"})));
    ASSERT_TRUE(run(log->trim(last)));
    const auto size = std::filesystem::file_size(path());
    if (round == 1) size_after_first = size;
    if (round > 1) EXPECT_LE(size, size_after_first + size_after_first / 10) << round;
  }
  log.reset();
  EXPECT_LT(std::filesystem::file_size(path()), 16U << 20);
}

TEST_F(SqliteLogTest, TheJournalStaysShortUnderLoad) {
  auto log = open();
  const std::string entry(30'000, 'e');
  for (int i = 0; i < 40; ++i) append_together(*log, 16, entry);
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"), 6U << 20);
}

TEST_F(SqliteLogTest, ACrashInTheMiddleOfATrimIsFinishedByTheNext) {
  auto log = open();
  for (int i = 0; i < 20; ++i) append(*log, "x");
  ASSERT_TRUE(run(log->record_snapshot({15, "snapshots/15"})));
  sql("UPDATE meta SET trimmed = 10");  // the first step; no entry is deleted yet
  EXPECT_EQ(run(log->read(9, 1_MiB)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(run(log->read(10, 1_MiB)).value().front().position, 11);
  ASSERT_TRUE(run(log->trim(10)));
  sql("CREATE TEMP TABLE check_it (n INTEGER CHECK (n = 10));"
      "INSERT INTO check_it SELECT count(*) FROM log");
}

TEST_F(SqliteLogTest, RefusesWhatIsNotItsDatabase) {
  std::ofstream(path()) << std::string(20'000, 'n');
  Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_NE(error.message.find("not an SQLite database"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("metadata.db"), std::string::npos) << error.message;
}

TEST_F(SqliteLogTest, RefusesAnotherProgramsDatabaseAndLeavesItAlone) {
  sql("CREATE TABLE songs (title TEXT)");
  Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_NE(error.message.find("another program"), std::string::npos) << error.message;
  sql("INSERT INTO songs VALUES ('x')");
  EXPECT_FALSE(std::filesystem::exists(path() + "-wal"));
}

TEST_F(SqliteLogTest, RefusesANewerSchema) {
  append(*open(), "a");
  sql("PRAGMA user_version = 2");
  Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_NE(error.message.find("schema 2"), std::string::npos) << error.message;
}

TEST_F(SqliteLogTest, NamesAFolderThatIsMissing) {
  auto log = SqliteLog::open((folder_.path() / "none" / "metadata.db").string(), clock_);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(log.error().message.find("none/metadata.db"), std::string::npos);
  EXPECT_NE(log.error().message.find("make it, or mount it"), std::string::npos)
      << log.error().message;
}

TEST_F(SqliteLogTest, NamesAFolderInWhichItMayMakeNothing) {
  const auto folder = folder_.path() / "of-another";
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(folder, std::filesystem::perms(0555));
  constexpr uid_t kNobody = 65534;
  const uid_t user = ::geteuid();
  if (user == 0) ASSERT_EQ(::seteuid(kNobody), 0);
  auto log = SqliteLog::open((folder / "metadata.db").string(), clock_);
  if (user == 0) ASSERT_EQ(::seteuid(user), 0);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(log.error().message.find("Permission denied"), std::string::npos)
      << log.error().message;
  EXPECT_EQ(log.error().message.find("No such file"), std::string::npos) << log.error().message;
  EXPECT_NE(log.error().message.find(folder.string()), std::string::npos) << log.error().message;
}

TEST_F(SqliteLogTest, ReportsADamagedPage) {
  {
    auto log = open();
    const std::string entry(50'000, 'e');
    for (int i = 0; i < 20; ++i) append(*log, entry);
  }
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  for (int page = 2; page < 30; ++page) {
    file.seekp(page * 8192L);
    file << std::string(64, '\xff');
  }
  file.close();
  auto log = open();
  auto read = run(log->read(0, 64_MiB));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kCorrupt) << read.error().to_string();
}

TEST_F(SqliteLogTest, ReportsAMissingEntry) {
  auto log = open();
  for (int i = 0; i < 5; ++i) append(*log, "x");
  sql("DELETE FROM log WHERE position = 3");
  EXPECT_EQ(run(log->read(0, 1_MiB)).error().code, ErrorCode::kCorrupt);
}

TEST_F(SqliteLogTest, NoticesThatTheFileWasReplaced) {
  auto log = open();
  append(*log, "a");
  back_up();
  append(*log, "b");
  put_back();
  auto other = open();
  EXPECT_EQ(append(*other, "c"), 2);
  EXPECT_EQ(run(log->tail()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(run(log->tail()).value(), 2);
  // Closing the old file must not take the journal of the new one along.
  EXPECT_TRUE(std::filesystem::exists(path() + "-wal"));
  EXPECT_EQ(append(*log, "d"), 3);
  EXPECT_EQ(append(*other, "e"), 4);
  EXPECT_EQ(run(log->read(0, 1_MiB)).value().size(), 4U);
}

TEST_F(SqliteLogTest, WhoDoesNotKnowYetThatTheFileWasReplacedWritesNothingIntoTheNewOne) {
  const std::function<Status(SqliteLog&)> calls[] = {
      [&](SqliteLog& log) -> Status {
        WEIR_TRY(const Appended appended, run(log.append(Slice::copy_of("lost"), 2)));
        ADD_FAILURE() << "appended at " << appended.position;
        return {};
      },
      [&](SqliteLog& log) { return run(log.record_snapshot({2, "snapshots/lost"})); },
      [&](SqliteLog& log) -> Status {
        WEIR_TRY(const Uuid id, run(log.cluster_id({9, 9})));
        ADD_FAILURE() << "the cluster is " << id.to_string();
        return {};
      }};
  auto log = open();
  append(*log, "a");
  for (const auto& call : calls) {
    back_up();
    append(*log, "b");
    put_back();
    auto other = open();
    for (const char* entry : {"c", "d"}) append(*other, entry);
    const Position tail = run(other->tail()).value();
    const std::uint64_t before = log->incarnation();
    const Status status = call(*log);
    ASSERT_FALSE(status);
    // Not kRefused: once it is known what the new file holds, the same may be tried again.
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable) << status.error().to_string();
    EXPECT_GT(log->incarnation(), before);
    EXPECT_EQ(run(other->tail()).value(), tail);
    EXPECT_EQ(run(other->latest_snapshot()).value().position, 0);
    EXPECT_TRUE(run(other->cluster_id({})).value().is_zero());
    EXPECT_EQ(append(*log, "e"), tail + 1);
  }
}

TEST_F(SqliteLogTest, AnAppendBeginsWhenItIsCalled) {
  auto log = open();
  append(*log, "a");
  back_up();
  append(*log, "b");
  auto begun = log->append(Slice::copy_of("lost"), 2);
  put_back();
  EXPECT_FALSE(run(log->tail()));
  EXPECT_EQ(run(log->tail()).value(), 1);
  auto appended = run(std::move(begun));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, ErrorCode::kUnavailable) << appended.error().to_string();
  EXPECT_EQ(run(log->tail()).value(), 1);
}

TEST_F(SqliteLogTest, GoesOnWithAFileThatIsGoodAgain) {
  auto log = open();
  append(*log, "a");
  const std::string backup = back_up();
  append(*log, "b");
  sql("PRAGMA wal_checkpoint(TRUNCATE)");  // so that it looks at the file again
  std::ofstream(path()) << std::string(8192 * 3, 'x');
  const std::uint64_t before = log->incarnation();
  for (int call = 0; call < 2; ++call) {
    auto tail = run(log->tail());
    ASSERT_FALSE(tail);
    EXPECT_EQ(tail.error().code, ErrorCode::kCorrupt) << tail.error().to_string();
  }
  EXPECT_GT(log->incarnation(), before);
  remove_journal();
  using std::filesystem::copy_options;
  std::filesystem::copy_file(backup, path(), copy_options::overwrite_existing);
  EXPECT_EQ(run(log->tail()).value(), 1);
  EXPECT_EQ(append(*log, "c"), 2);
}

// It could belong to another store, and would then count as the log that was lost.
TEST_F(SqliteLogTest, ABrokerThatIsRefusedLeavesNoFile) {
  storage::MemoryStore store(clock_);
  ASSERT_TRUE(run(store.put(std::string(kStoreMarkerKey), Chain(encode_store_marker({3, 4})), {})));
  Rng rng(1);
  auto log = open();
  const auto claim = [&] { return run(claim_store(*log, store, {.log = "l", .store = "s"}, rng)); };
  EXPECT_EQ(claim().error().code, ErrorCode::kConflict);
  EXPECT_EQ(run(log->latest_snapshot()).value().manifest_key, "");
  EXPECT_TRUE(run(log->read(0, 1_MiB)).value().empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  // The log is restored.
  auto restored = open();
  ASSERT_EQ(run(restored->cluster_id({3, 4})).value(), (Uuid{3, 4}));
  EXPECT_EQ(claim().value(), (Uuid{3, 4}));
}

TEST_F(SqliteLogTest, FailsWhileTheFileIsGoneAndMakesNoNewOne) {
  auto log = open();
  append(*log, "a");
  const std::string away = path() + ".away";
  std::filesystem::rename(path(), away);
  auto appended = run(log->append(Slice::copy_of("b"), 0));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, ErrorCode::kUnavailable) << appended.error().to_string();
  EXPECT_FALSE(std::filesystem::exists(path()));
  std::filesystem::rename(away, path());
  EXPECT_EQ(append(*log, "b"), 2);
}

TEST(OpenMetadataLog, KnowsItsKinds) {
  TemporaryFolder folder;
  ManualClock clock;
  EXPECT_TRUE(open_metadata_log("memory:", clock));
  EXPECT_TRUE(open_metadata_log("sqlite:" + (folder.path() / "m.db").string(), clock));
  // Begun by the first that writes.
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "m.db"));
  for (const char* url : {"", "mysql://u:pass@x", "sqlite", "sqlite:", "memory:x", "/a/path"}) {
    auto log = open_metadata_log(url, clock);
    ASSERT_FALSE(log) << url;
    EXPECT_EQ(log.error().code, ErrorCode::kInvalid) << url;
    EXPECT_NE(log.error().message.find("sqlite:PATH"), std::string::npos) << log.error().message;
    EXPECT_EQ(log.error().message.find("pass"), std::string::npos) << log.error().message;
  }
}

TEST(OpenMetadataLog, ReadersBeginNoLog) {
  TemporaryFolder folder;
  ManualClock clock;
  const auto open = [&](const std::string& url) {
    return open_metadata_log(url, clock, {.missing = MissingLog::kFail});
  };
  const std::string path = (folder.path() / "m.db").string();
  auto missing = open("sqlite:" + path);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("a broker wrote"), std::string::npos)
      << missing.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  std::ofstream(path).close();
  auto empty = open("sqlite:" + path);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(std::filesystem::file_size(path), 0U);
  EXPECT_FALSE(open("memory:"));
  boost::asio::io_context loop;
  ASSERT_TRUE(
      run_task(loop, open_metadata_log("sqlite:" + path, clock).value()->cluster_id({1, 2})));
  EXPECT_TRUE(open("sqlite:" + path));
}

TEST(OpenMetadataLog, ShowsNoPasswords) {
  ManualClock clock;
  auto log = open_metadata_log("mysql://me:secret@db/weir", clock);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().message.find("secret"), std::string::npos) << log.error().message;
  EXPECT_NE(log.error().message.find("mysql"), std::string::npos) << log.error().message;
}

}  // namespace
}  // namespace weir::metadata

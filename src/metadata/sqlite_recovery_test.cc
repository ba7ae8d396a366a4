// Coordinators on an SQLite log whose file is put back to an older state under them.
#include "metadata/log/forwarding_log.h"
#include "metadata/log/sqlite_log.h"
#include "metadata/log_coordinator.h"
#include "metadata/state/test_log.h"
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <functional>

namespace weir::metadata {
namespace {

namespace fs = std::filesystem;
using kafka::KafkaError;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Nothing wakes its broker when others append, as in a process that stands still: what it does
// next, it does without having looked.
class DeafLog final : public ForwardingLog {
 public:
  DeafLog(std::unique_ptr<MetadataLog> inner, Clock& clock)
      : ForwardingLog(std::move(inner)), clock_(clock) {}
  Task<void> wait_past(Position /*position*/, MonoTime /*deadline*/) override {
    while (!hears_) co_await clock_.sleep(milliseconds(20));
  }
  [[nodiscard]] std::uint64_t incarnation() const override {
    const std::uint64_t now = ForwardingLog::incarnation();
    if (looks_left_ == 0) return now;
    --looks_left_;
    if (looks_left_ == 0) at_look_();
    return now;
  }
  // Runs right behind the nth look at incarnation() from now (1: the next).
  void at_look(int nth, std::function<void()> action) {
    looks_left_ = nth;
    at_look_ = std::move(action);
  }
  void hear() { hears_ = true; }

 private:
  Clock& clock_;
  bool hears_ = false;
  mutable int looks_left_ = 0;
  std::function<void()> at_look_;
};

class SqliteRecoveryTest : public ::testing::Test {
 protected:
  struct Broker {
    std::unique_ptr<MetadataLog> log;
    std::unique_ptr<LogCoordinator> coordinator;
  };

  [[nodiscard]] std::string path() const { return (folder_.path() / "metadata.db").string(); }
  [[nodiscard]] std::string backup() const { return (folder_.path() / "backup.db").string(); }
  std::unique_ptr<MetadataLog> open() { return open(path()); }
  std::unique_ptr<MetadataLog> open(const std::string& path) {
    return SqliteLog::open(path, clock_).value();
  }
  template <typename T>
  T run(Task<T> task) {
    return run_task(loop_, std::move(task));
  }
  Broker start(BrokerId id, std::unique_ptr<MetadataLog> log) {
    LogCoordinatorOptions options{.broker_id = id};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    Broker broker{.log = std::move(log), .coordinator = {}};
    broker.coordinator = std::make_unique<LogCoordinator>(
        *broker.log, nullptr, clock_, Rng(static_cast<std::uint64_t>(id)), loop_.get_executor(),
        loop_.get_executor(), std::move(options));
    broker.coordinator->start();
    auto registered = run(broker.coordinator->wait_registered());
    EXPECT_TRUE(registered) << registered.error().to_string();
    return broker;
  }
  void stop(Broker& broker) { run_task(loop_, broker.coordinator->stop()); }
  KafkaError create(Broker& broker, const std::string& name) {
    CreateTopics command;
    command.topics.push_back({.name = name, .id = topic_id(name)});
    auto result = run(broker.coordinator->submit(command));
    EXPECT_TRUE(result) << result.error().to_string();
    return result ? result->items.at(0).error : KafkaError::kUnknownServerError;
  }
  static bool has(const Broker& broker, const std::string& topic) {
    return broker.coordinator->image()->topic(topic) != nullptr;
  }
  bool run_until(const std::function<bool()>& done) {
    const MonoTime end = clock_.now() + seconds(30);
    while (!done() && clock_.now() < end) run_task(loop_, clock_.sleep(milliseconds(20)));
    return done();
  }

  void back_up() const { copy(path(), backup()); }
  // As it is now, with what is in the journal.
  static void copy(const std::string& from, const std::string& to) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(from.c_str(), &db), SQLITE_OK);
    const std::string command = "VACUUM INTO '" + to + "'";
    ASSERT_EQ(sqlite3_exec(db, command.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }
  void put_back() const {
    fs::remove(path() + "-wal");
    fs::remove(path() + "-shm");
    fs::rename(backup(), path());
  }
  void expect_diverged(const Broker& broker) {
    const Status status = broker.coordinator->status();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt) << status.error().to_string();
    EXPECT_TRUE(status.error().message.contains("diverged")) << status.error().message;
  }

  TemporaryFolder folder_;
  SystemClock clock_;
  boost::asio::io_context loop_;
  // For what runs within a task of the other; both outlive the logs, whose threads post to them.
  boost::asio::io_context inner_loop_;
};

TEST_F(SqliteRecoveryTest, ABrokerThatStoodStillWhileTheFileWasReplacedLeavesTheNewOneAsItIs) {
  Broker still = start(1, std::make_unique<DeafLog>(open(), clock_));
  EXPECT_EQ(create(still, "kept"), KafkaError::kNone);
  back_up();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(create(still, "lost" + std::to_string(i)), KafkaError::kNone);
  put_back();
  // The others grow past what it knew.
  Broker other = start(2, open());
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(create(other, "new" + std::to_string(i)), KafkaError::kNone);

  EXPECT_FALSE(run(still.coordinator->submit(Heartbeat{})));
  expect_diverged(still);

  EXPECT_TRUE(run(other.coordinator->catch_up()));
  EXPECT_EQ(create(other, "after"), KafkaError::kNone);
  Broker third = start(3, open());
  for (const char* topic : {"kept", "new0", "after"}) EXPECT_TRUE(has(third, topic)) << topic;
  EXPECT_FALSE(has(third, "lost0"));
  dynamic_cast<DeafLog&>(*still.log).hear();
  for (Broker* broker : {&third, &other, &still}) stop(*broker);
}

// The look before an append is of one file, and another is there when the append is written.
class SqliteReplacedBehindALookTest : public SqliteRecoveryTest,
                                      public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Looks, SqliteReplacedBehindALookTest, ::testing::Values(1, 2));

TEST_P(SqliteReplacedBehindALookTest, NothingIsWrittenIntoTheNewFile) {
  Broker still = start(1, std::make_unique<DeafLog>(open(), clock_));
  auto& log = dynamic_cast<DeafLog&>(*still.log);
  EXPECT_EQ(create(still, "kept"), KafkaError::kNone);
  const std::string other_path = (folder_.path() / "other.db").string();
  copy(path(), other_path);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(create(still, "lost" + std::to_string(i)), KafkaError::kNone);
  Broker other = start(2, open(other_path));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(create(other, "new" + std::to_string(i)), KafkaError::kNone);
  stop(other);
  copy(other_path, backup());
  const Position tail = run(other.log->tail()).value();

  bool replaced = false;
  log.at_look(GetParam(), [&] {
    replaced = true;
    put_back();
    EXPECT_FALSE(run_task(inner_loop_, log.tail()));  // it is noticed at once
  });
  EXPECT_FALSE(run(still.coordinator->submit(Heartbeat{})));
  EXPECT_TRUE(replaced);
  expect_diverged(still);
  EXPECT_EQ(run(open()->tail()).value(), tail);
  Broker third = start(3, open());
  EXPECT_TRUE(has(third, "new5"));
  log.hear();
  stop(third);
  stop(still);
}

// What is copied with the history that a broker knows is as good as what was there before.
TEST_F(SqliteRecoveryTest, ABrokerGoesOnWithACopyThatHoldsWhatItKnows) {
  Broker broker = start(1, std::make_unique<DeafLog>(open(), clock_));
  EXPECT_EQ(create(broker, "before"), KafkaError::kNone);
  back_up();
  put_back();
  EXPECT_EQ(create(broker, "after"), KafkaError::kNone);
  EXPECT_TRUE(run_until([&] { return broker.coordinator->status().has_value(); }));
  Broker next = start(2, open());
  for (const char* topic : {"before", "after"}) EXPECT_TRUE(has(next, topic)) << topic;
  dynamic_cast<DeafLog&>(*broker.log).hear();
  stop(next);
  stop(broker);
}

}  // namespace
}  // namespace weir::metadata

// Coordinators on a PostgreSQL log: lost answers, crashes, and a database that went back in time.
#include "metadata/log/postgres_test_fixture.h"
#include "metadata/log/postgres_test_proxy.h"
#include "metadata/log_coordinator.h"
#include "metadata/state/test_log.h"

#include <filesystem>

namespace weir::metadata {
namespace {

namespace fs = std::filesystem;
using kafka::KafkaError;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Cut = PostgresTestProxy::Cut;

class PostgresRecoveryTest : public PostgresTest {
 protected:
  // A broker: its log and its coordinator. Ends with stop().
  struct Broker {
    std::unique_ptr<PostgresLog> log;
    std::unique_ptr<LogCoordinator> coordinator;
  };

  Broker start(BrokerId id, const std::string& url) {
    Broker broker{.log = open(url)};
    LogCoordinatorOptions options{.broker_id = id};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    broker.coordinator = make_coordinator(*broker.log, std::move(options));
    broker.coordinator->start();
    auto registered = run(broker.coordinator->wait_registered());
    EXPECT_TRUE(registered) << registered.error().to_string();
    return broker;
  }
  std::unique_ptr<LogCoordinator> make_coordinator(MetadataLog& log,
                                                   LogCoordinatorOptions options) {
    return std::make_unique<LogCoordinator>(log, nullptr, clock_, Rng(++seed_), loop.get_executor(),
                                            loop.get_executor(), std::move(options));
  }
  void stop(Broker& broker) { run_task(loop, broker.coordinator->stop()); }

  KafkaError create(Broker& broker, const std::string& name) {
    CreateTopics command;
    command.topics.push_back({.name = name, .id = topic_id(name)});
    auto result = run(broker.coordinator->submit(command));
    EXPECT_TRUE(result) << result.error().to_string();
    return result ? result->items.at(0).error : KafkaError::kUnknownServerError;
  }
  bool run_until(const std::function<bool()>& done) {
    const MonoTime end = clock_.now() + seconds(30);
    while (!done() && clock_.now() < end) run_task(loop, clock_.sleep(milliseconds(20)));
    return done();
  }

  std::uint64_t seed_ = 0;
};

TEST_F(PostgresRecoveryTest, AnAppendOfUnknownOutcomeIsSettledBySequence) {
  PostgresTestProxy proxy(server_->socket_folder());
  Broker broker = start(1, PostgresTestServer::url_at(url_, proxy.socket_folder()));
  for (const Cut cut : {Cut::kAfter, Cut::kBefore}) {
    const std::string topic = cut == Cut::kAfter ? "answer-lost" : "request-lost";
    proxy.cut_at(topic, cut);
    // Applied twice, it would answer that the topic exists.
    EXPECT_EQ(create(broker, topic), KafkaError::kNone);
    EXPECT_EQ(create(broker, topic), KafkaError::kTopicAlreadyExists);
  }
  EXPECT_EQ(proxy.cuts(), 2);
  EXPECT_TRUE(broker.coordinator->status());
  stop(broker);
}

TEST_F(PostgresRecoveryTest, BrokersGoOnAfterACrashOfTheServer) {
  Broker one = start(1, url_);
  Broker two = start(2, url_);
  EXPECT_EQ(create(one, "before"), KafkaError::kNone);
  server_->crash();
  EXPECT_TRUE(run_until([&] { return !one.coordinator->status() && !two.coordinator->status(); }));
  EXPECT_NE(one.coordinator->image()->topic("before"), nullptr);  // reads go on
  server_->start();
  EXPECT_TRUE(run_until([&] { return one.coordinator->status() && two.coordinator->status(); }));
  EXPECT_EQ(create(two, "after"), KafkaError::kNone);
  EXPECT_TRUE(run_until([&] { return one.coordinator->image()->topic("after") != nullptr; }));
  stop(one);
  stop(two);
}

class RestoredDatabaseTest : public PostgresRecoveryTest {
 protected:
  [[nodiscard]] fs::path backup() const { return fs::path(server_->data()).concat(".backup"); }
  void TearDown() override {
    if (server_ != nullptr) remove(backup());
  }
  // With owners, which the server insists on.
  static void copy(const fs::path& from, const fs::path& to) {
    ASSERT_EQ(std::system(("cp -a " + from.string() + " " + to.string()).c_str()), 0);
  }
  // Not in this process: TSan does not see std::filesystem open a folder, only close it, and takes
  // its descriptor for one that another thread closed before.
  static void remove(const fs::path& folder) {
    ASSERT_EQ(std::system(("rm -rf " + folder.string()).c_str()), 0);
  }
  void back_up() {
    server_->crash();
    copy(server_->data(), backup());
    server_->start();
  }
  void restore() {
    server_->crash();
    remove(server_->data());
    copy(backup(), server_->data());
    server_->start();
  }
};

// The broker does nothing while the database goes back: no call of the log fails.
TEST_F(RestoredDatabaseTest, ABrokerThatKnowsMoreStopsAndLeavesTheLogAsItIs) {
  Broker broker = start(1, url_);
  EXPECT_EQ(create(broker, "kept"), KafkaError::kNone);
  back_up();
  EXPECT_TRUE(run_until([&] { return broker.coordinator->status().has_value(); }));
  EXPECT_EQ(create(broker, "lost"), KafkaError::kNone);
  const auto held = entries(*open());
  restore();
  EXPECT_TRUE(run_until([&] {
    const Status status = broker.coordinator->status();
    return !status && status.error().code == ErrorCode::kCorrupt;
  }));
  const Error error = broker.coordinator->status().error();
  EXPECT_TRUE(error.message.contains("diverged")) << error.message;
  EXPECT_EQ(run(broker.coordinator->submit(Heartbeat{})).error().code, ErrorCode::kCorrupt);

  // Nothing of it came into the restored log: another broker can go on from there.
  const auto left = entries(*open());
  EXPECT_LT(left.size(), held.size());
  for (const auto& [position, entry] : left) EXPECT_EQ(entry, held.at(position));
  Broker next = start(2, url_);
  EXPECT_NE(next.coordinator->image()->topic("kept"), nullptr);
  EXPECT_EQ(next.coordinator->image()->topic("lost"), nullptr);
  EXPECT_EQ(create(next, "new"), KafkaError::kNone);
  stop(next);
  stop(broker);
}

}  // namespace
}  // namespace weir::metadata

// Several brokers on one log: who lives, who is fenced, and what becomes of it.
#include "metadata/coordinator_harness.h"
#include "metadata/state/test_log.h"

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ClusterTest : public CoordinatorHarness {
 protected:
  struct Node {
    explicit Node(MetadataLog& log) : cable(log) {}
    Cable cable;
    std::unique_ptr<LogCoordinator> coordinator;
    LogCoordinator* operator->() const { return coordinator.get(); }
    LogCoordinator& operator*() const { return *coordinator; }
  };

  ~ClusterTest() override {
    for (auto& node : nodes_) {
      node->cable.cut(false);
      node->cable.thaw();
    }
    for (auto& node : nodes_) run((*node)->stop());
  }

  Node& start(BrokerId broker) {
    nodes_.push_back(std::make_unique<Node>(log_));
    Node& node = *nodes_.back();
    LogCoordinatorOptions options{.broker_id = broker};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    node.coordinator =
        std::make_unique<LogCoordinator>(node.cable, nullptr, clock_, Rng(++seed_),
                                         context_.get_executor(), context_.get_executor(), options);
    node->start();
    EXPECT_TRUE(run(node->wait_registered()));
    return node;
  }
  Command commit(const LogCoordinator& coordinator, const TopicId& topic) {
    return ObjectBuilder({coordinator.broker_epoch(), next_object_++}).run(topic).batch(1);
  }
  TopicId create(LogCoordinator& coordinator, const std::string& name) {
    CreateTopics command;
    command.topics.push_back({.name = name, .id = topic_id(name)});
    EXPECT_TRUE(run(coordinator.submit(command)));
    return topic_id(name);
  }
  static Offset high_watermark(const LogCoordinator& coordinator, const TopicId& topic) {
    return coordinator.image()->topic(topic)->partition(0)->view().high_watermark;
  }
  static std::vector<BrokerId> live(const LogCoordinator& coordinator) {
    std::vector<BrokerId> ids;
    for (const auto& [id, broker] : coordinator.image()->brokers) ids.push_back(id);
    return ids;
  }
  Duration time_until_gone(const LogCoordinator& watcher, BrokerId broker) {
    MonoTime start = clock_.now();
    run_until([&] { return !watcher.image()->brokers.contains(broker); });
    return clock_.now() - start;
  }

  std::vector<std::unique_ptr<Node>> nodes_;
  std::int64_t next_object_ = 0;
  std::uint64_t seed_ = 0;
};

TEST_F(ClusterTest, ABrokerThatIsAloneAppendsNothing) {
  start(1);
  std::size_t before = log_.appends();
  run_for(seconds(60));
  EXPECT_EQ(log_.appends(), before);
}

TEST_F(ClusterTest, IdleBrokersAppendOneHeartbeatInAnInterval) {
  Node& one = start(1);
  start(2);
  start(3);
  std::vector<BrokerEpoch> epochs;
  for (const auto& [id, broker] : one->image()->brokers) epochs.push_back(broker.epoch);
  std::size_t before = log_.appends();
  run_for(seconds(60));
  // 3 brokers, every second.
  EXPECT_LE(log_.appends() - before, 180U);
  EXPECT_GE(log_.appends() - before, 160U);
  EXPECT_EQ(live(*one), (std::vector<BrokerId>{1, 2, 3}));
  std::vector<BrokerEpoch> after;
  for (const auto& [id, broker] : one->image()->brokers) after.push_back(broker.epoch);
  EXPECT_EQ(after, epochs);
}

TEST_F(ClusterTest, EveryAppendIsAHeartbeat) {
  Node& one = start(1);
  Node& two = start(2);
  TopicId topic = create(*one, "orders");
  int before = one.cable.appends;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(run(one->submit(commit(*one, topic))));
    run_for(milliseconds(500));
  }
  EXPECT_EQ(one.cable.appends - before, 20);
  EXPECT_EQ(live(*two), (std::vector<BrokerId>{1, 2}));
}

TEST_F(ClusterTest, ABrokerThatIsGoneIsFencedAfterItsSession) {
  Node& one = start(1);
  Node& two = start(2);
  Node& three = start(3);
  run_for(seconds(30));
  LeaderEpoch before = one->image()->membership;
  three.cable.freeze();
  Duration gone = time_until_gone(*one, 3);
  EXPECT_GE(gone, seconds(2));  // its last heartbeat was up to an interval before
  EXPECT_LE(gone, milliseconds(3200));
  run_until([&] { return one->applied() == two->applied(); });
  EXPECT_EQ(live(*two), (std::vector<BrokerId>{1, 2}));
  // Both saw it: it is one change.
  run_for(seconds(5));
  EXPECT_EQ(one->image()->membership, before + 1);
  EXPECT_EQ(two->image()->membership, before + 1);
}

TEST_F(ClusterTest, ABrokerThatSleptThroughItsFencingCannotCommitAndRegistersAnew) {
  Node& one = start(1);
  Node& two = start(2);
  TopicId topic = create(*one, "orders");
  ASSERT_TRUE(run(two->catch_up()));
  BrokerEpoch old = two->broker_epoch();
  two.cable.freeze();
  auto late = begin(two->submit(commit(*two, topic)));
  time_until_gone(*one, 2);
  EXPECT_FALSE(late.done());
  two.cable.thaw();
  EXPECT_EQ(finish(late).error().code, ErrorCode::kFenced);
  ASSERT_TRUE(run(two->wait_registered()));
  EXPECT_GT(two->broker_epoch(), old);
  EXPECT_EQ(high_watermark(*two, topic), 0);
  EXPECT_EQ(run(two->submit(commit(*two, topic)))->batches.at(0).base_offset, 0);
  run_until([&] { return one->image()->brokers.contains(2); });
  run_for(seconds(30));
  EXPECT_EQ(live(*one), (std::vector<BrokerId>{1, 2}));
  EXPECT_TRUE(two->status());
}

TEST_F(ClusterTest, ABrokerThatIsCutOffIsFencedAndComesBack) {
  Node& one = start(1);
  Node& two = start(2);
  BrokerEpoch old = two->broker_epoch();
  two.cable.cut(true);
  time_until_gone(*one, 2);
  EXPECT_EQ(run(two->submit(Heartbeat{})).error().code, ErrorCode::kUnavailable);
  two.cable.cut(false);
  run_until([&] { return one->image()->brokers.contains(2); });
  EXPECT_GT(two->broker_epoch(), old);
  // It saw nothing of the other meanwhile, and must not have fenced it for that.
  run_for(seconds(30));
  EXPECT_EQ(live(*two), (std::vector<BrokerId>{1, 2}));
  EXPECT_EQ(one->broker_epoch(), 1);
}

TEST_F(ClusterTest, AnOutageOfTheLogFencesNobody) {
  Node& one = start(1);
  Node& two = start(2);
  Node& three = start(3);
  LeaderEpoch before = one->image()->membership;
  log_.set_outage(Error{ErrorCode::kUnavailable, "restarting"});
  run_for(seconds(60));
  log_.set_outage(std::nullopt);
  run_for(seconds(60));
  for (Node* node : {&one, &two, &three}) {
    EXPECT_EQ((*node)->image()->membership, before);
    EXPECT_EQ(live(**node), (std::vector<BrokerId>{1, 2, 3}));
  }
  // It is still noticed when one does not come back.
  three.cable.freeze();
  EXPECT_LE(time_until_gone(*one, 3), milliseconds(3200));
}

// Each tries again when its own pause between attempts is over.
TEST_F(ClusterTest, WhoReachesTheLogLaterAfterAnOutageIsNotFenced) {
  Node& one = start(1);
  Node& two = start(2);
  LeaderEpoch before = one->image()->membership;
  one.cable.cut(true);
  two.cable.cut(true);
  run_for(seconds(60));
  one.cable.cut(false);
  run_for(seconds(5));
  two.cable.cut(false);
  run_for(seconds(30));
  EXPECT_EQ(one->image()->membership, before);
  // One that does not come back at all is.
  two.cable.cut(true);
  EXPECT_LE(time_until_gone(*one, 2), milliseconds(3200));
}

// Found by the simulator: every call that failed began all sessions anew.
TEST_F(ClusterTest, ALogThatFailsNowAndThenDoesNotKeepTheDead) {
  Node& one = start(1);
  Node& two = start(2);
  two.cable.cut(true);
  MonoTime begin = clock_.now();
  while (one->image()->brokers.contains(2) && clock_.now() - begin < seconds(60)) {
    one.cable.cut(true);
    run_until([&] { return one->status().has_value() == false; });
    one.cable.cut(false);
    run_for(milliseconds(700));
  }
  EXPECT_LE(clock_.now() - begin, seconds(10));
}

TEST_F(ClusterTest, ALogThatHangsFencesNobody) {
  Node& one = start(1);
  Node& two = start(2);
  LeaderEpoch before = one->image()->membership;
  one.cable.freeze();
  two.cable.freeze();
  run_for(seconds(60));
  one.cable.thaw();
  run_for(seconds(5));
  two.cable.thaw();
  run_for(seconds(30));
  EXPECT_EQ(two->image()->membership, before);
}

TEST_F(ClusterTest, ABrokerThatStopsLeavesAtOnce) {
  Node& one = start(1);
  Node& two = start(2);
  LeaderEpoch before = one->image()->membership;
  run(two->stop());
  EXPECT_LE(time_until_gone(*one, 2), seconds(1));
  EXPECT_EQ(one->image()->membership, before + 1);
}

TEST_F(ClusterTest, ABrokerThatWasKilledAndStartedAgainTakesItsPlace) {
  Node& one = start(1);
  Node& killed = start(2);
  BrokerEpoch old = killed->broker_epoch();
  killed.cable.freeze();
  Node& again = start(2);
  EXPECT_GT(again->broker_epoch(), old);
  run_for(seconds(30));
  EXPECT_EQ(live(*one), (std::vector<BrokerId>{1, 2}));
  EXPECT_EQ(one->image()->brokers.at(2).epoch, again->broker_epoch());
}

// Another appended so much to the log that went back that the entry stands behind all that its
// broker knew.
TEST_F(ClusterTest, ALogThatWentBackIsFoundByAnAppendThatWasOnItsWay) {
  Node& one = start(1);
  start(2);
  const MemoryLog::Image backup = log_.image();
  ASSERT_TRUE(run(one->submit(Heartbeat{})));
  one.cable.freeze();
  auto pending = begin(one->submit(AllocateProducerIds{}));
  run_for(milliseconds(1));
  log_.restore(backup);
  start(3);
  one.cable.thaw();
  auto result = finish(pending);
  ASSERT_FALSE(result);
  EXPECT_EQ(one->status().error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace weir::metadata

// Several brokers on a log in the object store: what they ask of it when nothing happens, and how
// soon they see that one of them is gone. docs/adr/0013-idle-object-log.md has the arithmetic.
#include "metadata/coordinator_harness.h"
#include "metadata/log/object_log.h"
#include "metadata/state/test_log.h"
#include "storage/delayed_store.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"

#include <algorithm>
#include <map>

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using storage::StoreOperation;

// As a store answers that is not far away.
constexpr storage::StoreLatency kLatency{.put = {.p50 = milliseconds(40), .p99 = milliseconds(150)},
                                         .get = {.p50 = milliseconds(20), .p99 = milliseconds(80)}};

class ObjectClusterTest : public CoordinatorHarness {
 protected:
  struct Node {
    Node(ObjectClusterTest& test, BrokerId broker)
        : store(test.memory_, test.clock_),
          log(ObjectLog::open(store, "memory:", test.clock_, test.context_.get_executor(),
                              {.probe = false, .rng = Rng(static_cast<std::uint64_t>(broker))})
                  .value()),
          cable(*log) {}
    storage::FaultyStore store;
    std::unique_ptr<ObjectLog> log;
    Cable cable;
    std::unique_ptr<LogCoordinator> coordinator;
    LogCoordinator* operator->() const { return coordinator.get(); }
  };

  ~ObjectClusterTest() override {
    for (auto& node : nodes_) {
      node->cable.thaw();
      run((*node)->stop());
      run(node->log->stop());
    }
  }

  Node& start(BrokerId broker) {
    nodes_.push_back(std::make_unique<Node>(*this, broker));
    Node& node = *nodes_.back();
    LogCoordinatorOptions options{.broker_id = broker};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    options.membership = {.session_timeout = seconds(30), .heartbeat_interval = seconds(20)};
    node.coordinator = std::make_unique<LogCoordinator>(
        node.cable, nullptr, clock_, Rng(static_cast<std::uint64_t>(broker)),
        context_.get_executor(), context_.get_executor(), options);
    node->start();
    EXPECT_TRUE(run(node->wait_registered()));
    return node;
  }
  static std::vector<BrokerId> live(const LogCoordinator& coordinator) {
    std::vector<BrokerId> ids;
    for (const auto& [id, broker] : coordinator.image()->brokers) ids.push_back(id);
    return ids;
  }
  std::size_t writes() const {
    std::size_t sum = 0;
    for (const auto& node : nodes_) {
      sum += node->store.calls(StoreOperation::kPut) + node->store.calls(StoreOperation::kList);
    }
    return sum;
  }
  std::size_t reads() const {
    std::size_t sum = 0;
    for (const auto& node : nodes_) {
      sum += node->store.calls(StoreOperation::kGet) +
             node->store.calls(StoreOperation::kGetRange) +
             node->store.calls(StoreOperation::kHead);
    }
    return sum;
  }

  storage::DelayedStore memory_{std::make_unique<storage::MemoryStore>(clock_), clock_, kLatency,
                                Rng(7)};
  std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_F(ObjectClusterTest, AnIdleClusterCostsLittle) {
  for (const BrokerId broker : {1, 2, 3}) start(broker);
  run_for(seconds(30));
  const std::size_t writes_before = writes();
  const std::size_t reads_before = reads();
  constexpr std::size_t kMinutes = 10;
  run_for(std::chrono::minutes(kMinutes));
  EXPECT_LE(writes() - writes_before, 10 * kMinutes);
  EXPECT_LE(reads() - reads_before, 100 * kMinutes);
  EXPECT_GE(writes() - writes_before, 8 * kMinutes);
  for (const auto& node : nodes_)
    EXPECT_EQ(live(*node->coordinator), (std::vector<BrokerId>{1, 2, 3}));
  RecordProperty("writes", static_cast<int>(writes() - writes_before));
  RecordProperty("reads", static_cast<int>(reads() - reads_before));
}

// Writers on one log, with the store of the latency model.
class ObjectWritersTest : public CoordinatorHarness {
 protected:
  ObjectWritersTest() {
    for (std::uint64_t i = 0; i < 3; ++i) {
      logs_.push_back(ObjectLog::open(store_, "memory:", clock_, context_.get_executor(),
                                      {.probe = false, .rng = Rng(i)})
                          .value());
    }
  }
  ~ObjectWritersTest() override {
    for (auto& log : logs_) run(log->stop());
  }

  // Each appends `count` entries, one every three `step`s, not at the moments of the others.
  void append_by_turns(std::size_t count, Duration step) {
    TaskGroup appends;
    for (std::size_t i = 0; i < count; ++i) {
      for (auto& log : logs_) {
        appends.spawn(context_.get_executor(), append_one(*log));
        run_for(step);
      }
    }
    run(appends.join());
    std::ranges::sort(took_);
    RecordProperty("p50_ms", std::to_string(took_[took_.size() / 2] / milliseconds(1)));
    RecordProperty("p99_ms", std::to_string(took_[took_.size() * 99 / 100] / milliseconds(1)));
    RecordProperty("puts", std::to_string(store_.calls(StoreOperation::kPut)));
  }

  storage::DelayedStore delayed_{
      std::make_unique<storage::MemoryStore>(clock_), clock_,
      storage::StoreLatency{.put = {.p50 = milliseconds(100), .p99 = milliseconds(300)},
                            .get = {.p50 = milliseconds(60), .p99 = milliseconds(200)}},
      Rng(5)};
  storage::FaultyStore store_{delayed_, clock_};
  std::vector<std::unique_ptr<ObjectLog>> logs_;
  std::vector<Duration> took_;

 private:
  Task<void> append_one(ObjectLog& log) {
    const MonoTime began = clock_.now();
    auto appended = co_await log.append(Slice::copy_of("commit"), known_[&log]);
    EXPECT_TRUE(appended);
    took_.push_back(clock_.now() - began);
    known_[&log] = appended->position;
  }

  std::map<ObjectLog*, Position> known_;
};

TEST_F(ObjectWritersTest, OnesThatSeldomMeetPayOneRequestEach) {
  append_by_turns(100, milliseconds(333));
  EXPECT_LE(took_[took_.size() / 2], milliseconds(500));
  EXPECT_LE(store_.calls(StoreOperation::kPut), 330U);
}

TEST_F(ObjectWritersTest, OnesThatAlwaysMeetTakeTurns) {
  append_by_turns(240, milliseconds(83));
  EXPECT_LE(took_[took_.size() / 2], milliseconds(1500));
  EXPECT_LE(took_.back(), seconds(10));
}

TEST_F(ObjectClusterTest, ADeadBrokerIsNoticedInItsSession) {
  Node& one = start(1);
  Node& two = start(2);
  Node& three = start(3);
  for (const Duration idle : {seconds(41), seconds(55)}) {
    run_for(idle);
    three.cable.freeze();
    const MonoTime died = clock_.now();
    run_until([&] { return !one->image()->brokers.contains(3); });
    // Its last heartbeat was up to an interval before, and was seen up to 4 s after that.
    EXPECT_GE(clock_.now() - died, seconds(9));
    EXPECT_LE(clock_.now() - died, seconds(35));
    run_until([&] { return !two->image()->brokers.contains(3); });
    EXPECT_LE(clock_.now() - died, seconds(39));
    three.cable.thaw();
    ASSERT_TRUE(run(three->wait_registered()));
    run_until([&] { return live(*one.coordinator).size() == 3; });
  }
}

}  // namespace
}  // namespace weir::metadata

// Several brokers on a log in the object store: what they ask of it when nothing happens, and how
// soon they see that one of them is gone. docs/adr/0013-idle-object-log.md has the arithmetic.
#include "metadata/coordinator_harness.h"
#include "metadata/log/object_log.h"
#include "metadata/sequenced_log.h"
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
          sequenced(std::make_unique<Cable>(*log), test.neighbours_, test.clock_,
                    Rng(static_cast<std::uint64_t>(broker)), metrics),
          cable(sequenced) {}
    storage::FaultyStore store;
    std::unique_ptr<ObjectLog> log;
    MetricsRegistry metrics;
    SequencedLog sequenced;
    Cable cable;
    std::unique_ptr<LogCoordinator> coordinator;
    std::optional<SequencerWatch> watch;
    LogCoordinator* operator->() const { return coordinator.get(); }
  };

  // The way to the node that appends for all, as between brokers in one network.
  class Neighbours final : public AppendCarrier {
   public:
    explicit Neighbours(ObjectClusterTest& test) : test_(test) {}

    [[nodiscard]] bool takes(const Slice& entry) const override { return counts_once(entry); }
    Task<Result<Appended>> carry(const BrokerImage& to, Slice entry, Position known) override {
      co_await test_.clock_.sleep(milliseconds(1));
      co_return co_await test_.nodes_.at(to.id)->log->append_for_another(std::move(entry), known);
    }

   private:
    ObjectClusterTest& test_;
  };

  ~ObjectClusterTest() override {
    for (auto& [broker, node] : nodes_) {
      node->cable.thaw();
      run((*node)->stop());
    }
    for (auto& [broker, node] : nodes_) run(node->log->stop());
  }

  enum class Appends { kForItself, kThroughTheFirst };
  Node& start(BrokerId broker, Appends appends = Appends::kForItself) {
    Node& node = launch(broker, appends);
    EXPECT_TRUE(run(node->wait_registered()));
    return node;
  }
  Node& launch(BrokerId broker, Appends appends) {
    Node& node = *(nodes_[broker] = std::make_unique<Node>(*this, broker));
    LogCoordinatorOptions options{.broker_id = broker};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    options.membership = {.session_timeout = seconds(30), .heartbeat_interval = seconds(20)};
    node.coordinator = std::make_unique<LogCoordinator>(
        node.cable, nullptr, clock_, Rng(static_cast<std::uint64_t>(broker)),
        context_.get_executor(), context_.get_executor(), options);
    if (appends == Appends::kThroughTheFirst) {
      node.watch.emplace(*node.coordinator, broker, node.sequenced);
      node->add_listener(*node.watch);
    }
    node->start();
    return node;
  }
  Task<void> write_all_the_time(LogCoordinator& coordinator) {
    while (!has_ended_) EXPECT_TRUE(co_await coordinator.submit(Heartbeat{}));
  }
  static std::vector<BrokerId> live(const LogCoordinator& coordinator) {
    std::vector<BrokerId> ids;
    for (const auto& [id, broker] : coordinator.image()->brokers) ids.push_back(id);
    return ids;
  }
  void expect_little(std::size_t puts_a_minute, std::size_t gets_a_minute) {
    constexpr std::size_t kMinutes = 10;
    const std::size_t writes_before = writes();
    const std::size_t reads_before = reads();
    run_for(std::chrono::minutes(kMinutes));
    EXPECT_LE(writes() - writes_before, puts_a_minute * kMinutes);
    EXPECT_LE(reads() - reads_before, gets_a_minute * kMinutes);
    EXPECT_GE(writes() - writes_before, 8 * kMinutes);
    for (const auto& [broker, node] : nodes_) {
      EXPECT_EQ(live(*node->coordinator), (std::vector<BrokerId>{1, 2, 3}));
    }
    RecordProperty("writes", static_cast<int>(writes() - writes_before));
    RecordProperty("reads", static_cast<int>(reads() - reads_before));
  }
  std::size_t writes() const {
    std::size_t sum = 0;
    for (const auto& [broker, node] : nodes_) {
      sum += node->store.calls(StoreOperation::kPut) + node->store.calls(StoreOperation::kList);
    }
    return sum;
  }
  std::size_t reads() const {
    std::size_t sum = 0;
    for (const auto& [broker, node] : nodes_) {
      sum += node->store.calls(StoreOperation::kGet) +
             node->store.calls(StoreOperation::kGetRange) +
             node->store.calls(StoreOperation::kHead);
    }
    return sum;
  }

  storage::DelayedStore memory_{std::make_unique<storage::MemoryStore>(clock_), clock_, kLatency,
                                Rng(7)};
  Neighbours neighbours_{*this};
  bool has_ended_ = false;
  std::map<BrokerId, std::unique_ptr<Node>> nodes_;
};

TEST_F(ObjectClusterTest, AnIdleClusterCostsLittle) {
  for (const BrokerId broker : {1, 2, 3}) start(broker);
  run_for(seconds(30));
  expect_little(10, 100);
}

// Their heartbeats come one right after the other.
TEST_F(ObjectClusterTest, OneThatWasStartedTogetherAndAppendsThroughOneCostsLess) {
  for (const BrokerId broker : {1, 2, 3}) start(broker, Appends::kThroughTheFirst);
  run_for(seconds(30));
  expect_little(10, 80);
}

TEST_F(ObjectClusterTest, OneThatAppendsThroughOneCostsLessWheneverItsHeartbeatsCome) {
  for (const BrokerId broker : {1, 2, 3}) {
    start(broker, Appends::kThroughTheFirst);
    run_for(seconds(7));
  }
  run_for(seconds(30));
  expect_little(10, 85);
}

// It loses every race with the one that appends for all, and is not among them yet.
TEST_F(ObjectClusterTest, ABrokerIsRegisteredWhereOthersWriteAllTheTime) {
  TaskGroup writing;
  for (const BrokerId broker : {1, 2}) {
    Node& node = start(broker, Appends::kThroughTheFirst);
    writing.spawn(context_.get_executor(), write_all_the_time(*node.coordinator));
  }
  run_for(seconds(10));
  Node& late = launch(3, Appends::kThroughTheFirst);
  late.store.set_plan([](const storage::StoreCall& call) {
    storage::StoreFault fault;
    if (call.operation == StoreOperation::kPut) fault.delay = milliseconds(150);
    return fault;
  });
  const MonoTime began = clock_.now();
  run_until([&] { return late->broker_epoch() >= 0 || clock_.now() - began > seconds(20); });
  EXPECT_LE(clock_.now() - began, seconds(5));
  has_ended_ = true;
  run(writing.join());
}

constexpr storage::StoreLatency kRemote{.put = {.p50 = milliseconds(100), .p99 = milliseconds(300)},
                                        .get = {.p50 = milliseconds(60), .p99 = milliseconds(200)}};
constexpr storage::StoreLatency kLocal{.put = {.p50 = milliseconds(3), .p99 = milliseconds(9)},
                                       .get = {.p50 = milliseconds(2), .p99 = milliseconds(6)}};

// Writers on one log, with the store of the latency model.
class ObjectWritersTest : public CoordinatorHarness {
 protected:
  explicit ObjectWritersTest(const storage::StoreLatency& latency = kRemote)
      : delayed_(std::make_unique<storage::MemoryStore>(clock_), clock_, latency, Rng(5)) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      logs_.push_back(ObjectLog::open(store_, "memory:", clock_, context_.get_executor(),
                                      {.probe = false, .rng = Rng(i)})
                          .value());
      writers_.push_back(logs_.back().get());
    }
  }
  ~ObjectWritersTest() override {
    for (auto& log : logs_) run(log->stop());
  }

  // Each appends `count` entries, one every three `step`s, not at the moments of the others.
  void append_by_turns(std::size_t count, Duration step) {
    TaskGroup appends;
    for (std::size_t i = 0; i < count; ++i) {
      for (MetadataLog* log : writers_) {
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

  storage::DelayedStore delayed_;
  storage::FaultyStore store_{delayed_, clock_};
  std::vector<std::unique_ptr<ObjectLog>> logs_;
  std::vector<MetadataLog*> writers_;  // what the entries are appended through
  std::vector<Duration> took_;

 private:
  Task<void> append_one(MetadataLog& log) {
    const MonoTime began = clock_.now();
    auto appended = co_await log.append(Slice::copy_of("commit"), known_[&log]);
    // As the appender does.
    while (!appended && appended.error().code == ErrorCode::kConflict) {
      appended = co_await log.append(Slice::copy_of("commit"), known_[&log]);
    }
    EXPECT_TRUE(appended);
    took_.push_back(clock_.now() - began);
    known_[&log] = appended->position;
  }

  std::map<MetadataLog*, Position> known_;
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

TEST_F(ObjectWritersTest, AReaderThatIsBehindReadsInParallel) {
  constexpr Position kGroups = 50;
  ASSERT_EQ(run(logs_[1]->tail()).value(), 0);
  for (Position i = 0; i < kGroups; ++i) {
    ASSERT_TRUE(run(logs_[0]->append(Slice::copy_of("entry"), i)));
  }
  const std::size_t gets = store_.calls(StoreOperation::kGet);
  const std::size_t lists = store_.calls(StoreOperation::kList);
  const MonoTime began = clock_.now();
  EXPECT_EQ(run(logs_[1]->tail()).value(), kGroups);
  // One after the other they take more than 3 s.
  EXPECT_LE(clock_.now() - began, milliseconds(1300));
  EXPECT_EQ(store_.calls(StoreOperation::kGet) - gets, kGroups + 1U);
  EXPECT_EQ(store_.calls(StoreOperation::kList) - lists, 1U);
  RecordProperty("took_ms", std::to_string((clock_.now() - began) / milliseconds(1)));
  EXPECT_EQ(run(logs_[1]->read(0, 1_MiB))->size(), static_cast<std::size_t>(kGroups));
}

// A list costs twelve times what a GET does.
TEST_F(ObjectWritersTest, AReaderThatIsNearlyThereListsNothing) {
  ASSERT_EQ(run(logs_[1]->tail()).value(), 0);
  for (Position i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(logs_[0]->append(Slice::copy_of("entry"), i)));
  }
  const std::size_t lists = store_.calls(StoreOperation::kList);
  EXPECT_EQ(run(logs_[1]->tail()).value(), 3);
  EXPECT_EQ(store_.calls(StoreOperation::kList), lists);
}

// A broker that follows the log, and nothing has happened for so long that it looks every 4 s.
class SilentReaderTest : public ObjectWritersTest {
 protected:
  SilentReaderTest() {
    EXPECT_EQ(run(reader().tail()).value(), 0);
    waiting_.spawn(context_.get_executor(), reader().wait_past(1, clock_.now() + seconds(60)));
    run_for(seconds(20));
  }
  ~SilentReaderTest() override { run(waiting_.join()); }

  // Another one appends in its place.
  MonoTime hear_of_first() {
    const MonoTime began = clock_.now();
    EXPECT_EQ(run(logs_[0]->append(Slice::copy_of("heartbeat"), 0))->position, 1);
    reader().heard_of(1, began);
    return began;
  }
  ObjectLog& reader() { return *logs_[1]; }

  TaskGroup waiting_;
};

TEST_F(SilentReaderTest, ToHearOfAnEntryIsALookAndNoSignOfOthers) {
  const MonoTime began = hear_of_first();
  const std::size_t gets = store_.calls(StoreOperation::kGet);
  const auto gets_until = [&](Duration time) {
    run_for(began + time - clock_.now());
    return store_.calls(StoreOperation::kGet) - gets;
  };
  EXPECT_EQ(gets_until(milliseconds(3900)), 0U);
  // The entry, and that nothing follows.
  EXPECT_EQ(gets_until(seconds(7)), 2U);
  EXPECT_EQ(gets_until(seconds(10)), 3U);
}

TEST_F(SilentReaderTest, WhatComesBehindAnEntryThatWasHeardOfIsSeenInTime) {
  const MonoTime began = hear_of_first();
  EXPECT_EQ(run(logs_[0]->append(Slice::copy_of("another's"), 1))->position, 2);
  run(waiting_.join());
  EXPECT_LE(clock_.now() - began, milliseconds(4600));
}

// As one broker asks another in the same network.
class Neighbour final : public AppendCarrier {
 public:
  Neighbour(MetadataLog& log, Clock& clock) : log_(log), clock_(clock) {}

  [[nodiscard]] bool takes(const Slice&) const override { return true; }
  Task<Result<Appended>> carry(const BrokerImage&, Slice entry, Position known) override {
    co_await clock_.sleep(milliseconds(1));
    if (is_cut) co_return fail(ErrorCode::kUnavailable, "nobody there");
    co_return co_await log_.append_for_another(std::move(entry), known);
  }

  bool is_cut = false;

 private:
  MetadataLog& log_;
  Clock& clock_;
};

class SequencedWritersTest : public ObjectWritersTest {
 protected:
  explicit SequencedWritersTest(const storage::StoreLatency& latency = kRemote)
      : ObjectWritersTest(latency), neighbour_(std::make_unique<Neighbour>(*logs_[0], clock_)) {
    for (const std::size_t i : {1U, 2U}) {
      auto log = std::make_unique<SequencedLog>(std::make_unique<Cable>(*logs_[i]), *neighbour_,
                                                clock_, Rng(i), metrics_);
      log->follow(std::make_shared<const BrokerImage>(BrokerImage{.id = 1, .epoch = 1}));
      sequenced_.push_back(std::move(log));
    }
    writers_ = {logs_[0].get(), sequenced_[0].get(), sequenced_[1].get()};
  }

  MetricsRegistry metrics_;
  std::unique_ptr<Neighbour> neighbour_;
  std::vector<std::unique_ptr<SequencedLog>> sequenced_;
};

TEST_F(SequencedWritersTest, OneAppendsForAll) {
  append_by_turns(240, milliseconds(83));
  EXPECT_LE(took_[took_.size() / 2], milliseconds(400));
  EXPECT_LE(took_.back(), seconds(2));
  EXPECT_LE(store_.calls(StoreOperation::kPut), 400U);
}

TEST_F(SequencedWritersTest, EachAppendsForItselfWhenThatOneIsGone) {
  neighbour_->is_cut = true;
  append_by_turns(100, milliseconds(333));
  EXPECT_LE(took_[took_.size() / 2], milliseconds(500));
  EXPECT_LE(took_.back(), seconds(4));
}

// A look before each group would find nothing, until somebody appends for itself.
TEST_F(SequencedWritersTest, TheOneThatAppendsForAllLooksOnlyWhenItMetAnother) {
  Position known = 0;
  const auto gets_of_append = [&](MetadataLog& log) {
    run_for(seconds(10));
    const std::size_t gets = store_.calls(StoreOperation::kGet);
    known = run(log.append(Slice::copy_of("entry"), known))->position;
    return store_.calls(StoreOperation::kGet) - gets;
  };
  gets_of_append(*sequenced_[0]);
  EXPECT_EQ(gets_of_append(*sequenced_[0]), 0U);
  EXPECT_EQ(gets_of_append(*logs_[0]), 0U);
  gets_of_append(*logs_[2]);
  EXPECT_EQ(gets_of_append(*sequenced_[0]), 1U);  // what stands where it wrote in vain
  const std::size_t puts = store_.calls(StoreOperation::kPut);
  gets_of_append(*logs_[2]);
  EXPECT_EQ(gets_of_append(*sequenced_[0]), 2U);
  EXPECT_EQ(store_.calls(StoreOperation::kPut) - puts, 2U);
}

// Whose GETs take longer than its PUTs.
constexpr storage::StoreLatency kSlowToRead{
    .put = {.p50 = milliseconds(10), .p99 = milliseconds(30)},
    .get = {.p50 = milliseconds(45), .p99 = milliseconds(90)}};

class SlowToReadTest : public SequencedWritersTest {
 protected:
  SlowToReadTest() : SequencedWritersTest(kSlowToRead) {}

  Task<void> ask_for_tails(MetadataLog& log) {
    while (!has_ended_) {
      const MonoTime began = clock_.now();
      EXPECT_TRUE(co_await log.tail());
      tails_.push_back(clock_.now() - began);
      co_await clock_.sleep(milliseconds(250));
    }
  }

  bool has_ended_ = false;
  std::vector<Duration> tails_;
};

// There is always one more group, and one who follows the log looks again and again.
TEST_F(SlowToReadTest, TheEndIsFoundWhileAnotherWritesAllTheTime) {
  TaskGroup asking;
  constexpr Position kFar = 1'000'000;
  asking.spawn(context_.get_executor(), logs_[1]->wait_past(kFar, clock_.now() + seconds(20)));
  asking.spawn(context_.get_executor(), ask_for_tails(*logs_[1]));
  append_by_turns(600, milliseconds(11));
  has_ended_ = true;
  run(asking.join());
  std::ranges::sort(tails_);
  EXPECT_GE(tails_.size(), 20U);
  EXPECT_LE(tails_.back(), seconds(1));
  RecordProperty("tail_p50_ms", std::to_string(tails_[tails_.size() / 2] / milliseconds(1)));
  RecordProperty("tail_max_ms", std::to_string(tails_.back() / milliseconds(1)));
}

class NearSequencedWritersTest : public SequencedWritersTest {
 protected:
  NearSequencedWritersTest() : SequencedWritersTest(kLocal) {}
};

// Each group is a GET for every other broker, which would not keep up with hundreds a second.
TEST_F(NearSequencedWritersTest, EntriesGatherOnAFastStore) {
  append_by_turns(300, milliseconds(2));
  EXPECT_LE(took_[took_.size() / 2], milliseconds(35));
  EXPECT_LE(took_.back(), milliseconds(80));
  EXPECT_LE(store_.calls(StoreOperation::kPut), 100U);
}

// The one that appends for another sees nothing of it in the log.
TEST_F(NearSequencedWritersTest, EntriesOfOneOtherGather) {
  writers_ = {sequenced_[0].get()};
  append_by_turns(300, milliseconds(6));
  EXPECT_LE(store_.calls(StoreOperation::kPut), 100U);
}

TEST_F(NearSequencedWritersTest, OneThatIsAloneDoesNotWait) {
  writers_ = {logs_[0].get()};
  append_by_turns(100, milliseconds(20));
  EXPECT_EQ(store_.calls(StoreOperation::kPut), 100U);
  EXPECT_LE(took_.back(), milliseconds(25));
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

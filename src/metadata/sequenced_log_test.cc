#include "metadata/sequenced_log.h"

#include "metadata/coordinator_harness.h"
#include "metadata/log/metadata_log_contract.h"
#include "metadata/state/test_log.h"

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A broker next door, whose log it is; the way there fails as the test says.
class Neighbour final : public AppendCarrier {
 public:
  explicit Neighbour(MetadataLog& log) : log_(log) {}

  [[nodiscard]] bool takes(const Slice& entry) const override {
    return as_text(entry.bytes()) != "repeatable";
  }
  Task<Result<Appended>> carry(const BrokerImage& to, Slice entry, Position known) override {
    ++calls;
    last_to = to.id;
    if (error && !arrives) co_return std::unexpected(*error);
    auto appended = co_await log_.append(std::move(entry), known);
    if (error) co_return std::unexpected(*error);
    co_return appended;
  }

  std::atomic<int> calls = 0;
  std::atomic<BrokerId> last_to = -1;
  std::optional<Error> error;
  bool arrives = true;  // an error comes after the append

 private:
  MetadataLog& log_;
};

class SequencedLogTest : public CoordinatorHarness {
 protected:
  Result<Appended> append(std::string_view entry, Position known = 0) {
    return run(log.append(Slice::copy_of(entry), known));
  }
  std::string stored() {
    std::string out;
    for (const LogEntry& entry : run(log_.read(0, 1_MiB)).value())
      out += std::string(as_text(entry.bytes.bytes())) + " ";
    return out;
  }
  double counted(const std::string& outcome) {
    for (const MetricFamily& family : metrics.snapshot()) {
      if (family.name != "weir_metadata_carried_appends_total") continue;
      for (const MetricSample& sample : family.samples) {
        if (sample.labels == MetricLabels{{"outcome", outcome}}) return sample.value;
      }
    }
    return -1;
  }
  void follow(BrokerId id) {
    log.follow(std::make_shared<const BrokerImage>(BrokerImage{.id = id, .epoch = 1}));
  }

  MetricsRegistry metrics;
  Neighbour neighbour{log_};
  Cable* cable = new Cable(log_);
  SequencedLog log{std::unique_ptr<MetadataLog>(cable), neighbour, clock_, Rng(1), metrics};
};

TEST_F(SequencedLogTest, AppendsForItselfWhenNobodyElseDoes) {
  ASSERT_TRUE(append("a"));
  follow(2);
  log.follow(nullptr);
  ASSERT_TRUE(append("b"));
  EXPECT_EQ(neighbour.calls, 0);
  EXPECT_EQ(cable->appends, 2);
}

TEST_F(SequencedLogTest, TheOneThatAppendsForAllBringsWhatOthersAppended) {
  ASSERT_TRUE(run(log_.append(Slice::copy_of("other"), 0)));
  follow(2);
  auto appended = append("own");
  ASSERT_TRUE(appended);
  EXPECT_EQ(appended->position, 2);
  EXPECT_EQ(appended->entries.size(), 2U);
  EXPECT_EQ(neighbour.last_to, 2);
  EXPECT_EQ(cable->appends, 0);
  EXPECT_EQ(counted("appended"), 1);
}

TEST_F(SequencedLogTest, LargeEntriesAreNotCarried) {
  follow(2);
  ASSERT_TRUE(append(std::string(1_MiB + 1, 'x')));
  EXPECT_EQ(neighbour.calls, 0);
  ASSERT_TRUE(append(std::string(1_MiB, 'x')));
  EXPECT_EQ(neighbour.calls, 1);
}

TEST_F(SequencedLogTest, WhatTheCarrierDoesNotTakeItAppendsItself) {
  follow(2);
  ASSERT_TRUE(append("repeatable"));
  EXPECT_EQ(neighbour.calls, 0);
  EXPECT_EQ(cable->appends, 1);
  ASSERT_TRUE(append("a"));
  EXPECT_EQ(neighbour.calls, 1);
}

// Somebody on the way may say that it was not handed over although it was.
TEST_F(SequencedLogTest, AfterItAskedAnotherBrokerNothingIsRefused) {
  follow(2);
  neighbour.error = Error{ErrorCode::kUnavailable, "it says"};
  log_.fail_append(2, MemoryLog::Effect::kNone, ErrorCode::kRefused);
  EXPECT_EQ(append("a").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(stored(), "a ");
  log_.fail_append(1, MemoryLog::Effect::kNone, ErrorCode::kRefused);
  EXPECT_EQ(append("b").error().code, ErrorCode::kRefused);  // it rests: its own
}

TEST_F(SequencedLogTest, WhatWasNotHandedOverItAppendsItselfAtOnce) {
  follow(2);
  neighbour.error = Error{ErrorCode::kUnavailable, "nobody there"};
  neighbour.arrives = false;
  ASSERT_TRUE(append("a"));
  ASSERT_TRUE(append("b"));
  EXPECT_EQ(stored(), "a b ");
  EXPECT_EQ(neighbour.calls, 1);
  EXPECT_EQ(counted("refused"), 1);
  neighbour.error.reset();
  run_for(milliseconds(1001));
  ASSERT_TRUE(append("c"));
  EXPECT_EQ(neighbour.calls, 2);
  EXPECT_EQ(cable->appends, 2);
}

TEST_F(SequencedLogTest, WhatMayStandItAppendsNotAgain) {
  follow(2);
  neighbour.error = Error{ErrorCode::kTimeout, "the answer is lost"};
  auto appended = append("a");
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(stored(), "a ");
  EXPECT_EQ(counted("unknown"), 1);
  // It looks to itself for a while.
  ASSERT_TRUE(append("b"));
  run_for(seconds(4));
  ASSERT_TRUE(append("c"));
  EXPECT_EQ(neighbour.calls, 1);
  neighbour.error.reset();
  run_for(seconds(7));
  ASSERT_TRUE(append("d"));
  EXPECT_EQ(neighbour.calls, 2);
}

// Who alone loses against it knows that it is well.
TEST_F(SequencedLogTest, WhoLosesToItHandsOverAtOnce) {
  follow(2);
  neighbour.error = Error{ErrorCode::kTimeout, "slow"};
  neighbour.arrives = false;
  EXPECT_FALSE(append("a"));
  neighbour.error.reset();
  cable->lose(true);
  ASSERT_TRUE(append("b"));
  EXPECT_EQ(neighbour.calls, 2);
  EXPECT_EQ(stored(), "b ");
  log.follow(nullptr);
  EXPECT_EQ(append("c").error().code, ErrorCode::kConflict);
}

TEST_F(SequencedLogTest, ItRestsLongerEachTimeAndNotForAnotherBroker) {
  follow(2);
  neighbour.error = Error{ErrorCode::kTimeout, "slow"};
  neighbour.arrives = false;
  for (int i = 0; i < 5; ++i) {
    const int before = neighbour.calls;
    while (neighbour.calls == before) {
      // The one that is carried fails, those between are this broker's own.
      EXPECT_EQ(append("x").has_value(), neighbour.calls == before);
      run_for(milliseconds(500));
    }
  }
  run_for(seconds(29));
  ASSERT_TRUE(append("y"));
  EXPECT_EQ(neighbour.calls, 5);
  neighbour.error.reset();
  follow(3);
  ASSERT_TRUE(append("z"));
  EXPECT_EQ(neighbour.last_to, 3);
}

TEST(Sequencer, IsTheBrokerThatIsRegisteredForLongest) {
  ClusterImage cluster;
  EXPECT_EQ(sequencer_of(cluster), nullptr);
  cluster.brokers[1] = {.id = 1, .epoch = 30};
  cluster.brokers[2] = {.id = 2, .epoch = 10};
  cluster.brokers[3] = {.id = 3, .epoch = 20};
  EXPECT_EQ(sequencer_of(cluster)->id, 2);
  cluster.brokers.erase(2);
  EXPECT_EQ(sequencer_of(cluster)->id, 3);
}

// The contract holds when all handles but the first append through it.
class ThroughTheFirst final : public LogUnderTest {
 public:
  std::shared_ptr<MetadataLog> open(Clock& clock) override {
    const bool is_first = !memory_;
    if (is_first) {
      memory_ = std::make_unique<MemoryLog>(clock);
      carrier_ = std::make_unique<Neighbour>(*memory_);
    }
    auto log = std::make_shared<SequencedLog>(std::make_unique<Cable>(*memory_), *carrier_, clock,
                                              Rng(1), metrics_);
    if (!is_first) {
      log->follow(std::make_shared<const BrokerImage>(BrokerImage{.id = 1, .epoch = 1}));
    }
    return log;
  }

 private:
  MetricsRegistry metrics_;
  std::unique_ptr<MemoryLog> memory_;
  std::unique_ptr<Neighbour> carrier_;
};

INSTANTIATE_TEST_SUITE_P(ThroughTheFirst, MetadataLogContract,
                         testing::Values([] { return std::make_unique<ThroughTheFirst>(); }));

}  // namespace
}  // namespace weir::metadata

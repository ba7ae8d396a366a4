// Commits stay in order where one is refused: the state machine takes any first sequence of an
// idempotent producer, so what was submitted behind must not come before it.
#include "metadata/coordinator_harness.h"
#include "metadata/state/test_log.h"

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;

class CommitRefusalTest : public CoordinatorHarness {
 protected:
  CommitRefusalTest() {
    LogCoordinatorOptions options{.broker_id = 1};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    coordinator_ = std::make_unique<LogCoordinator>(
        log_, nullptr, clock_, Rng(1), context_.get_executor(), context_.get_executor(), options);
    coordinator_->start();
    EXPECT_TRUE(run(coordinator_->wait_registered()));
    CreateTopics command;
    command.topics.push_back({.name = "orders", .id = topic_id("orders")});
    EXPECT_TRUE(run(coordinator_->submit(command)));
  }
  ~CommitRefusalTest() override { run(coordinator_->stop()); }

  // The next batch of a producer, in an object of its own.
  Command commit(BrokerEpoch epoch) {
    const auto sequence = static_cast<std::int32_t>(next_object_);
    return ObjectBuilder({epoch, next_object_++}).run(topic_id("orders")).batch(1, 7, 0, sequence);
  }
  Command commit() { return commit(coordinator_->broker_epoch()); }

  struct Submitted {
    bool knew = false;  // that the first was refused
    Result<CommandResult> result;
  };
  Task<Submitted> submit(Command command, Pending<Result<CommandResult>> first) {
    const bool knew = first.done();
    auto result = co_await coordinator_->submit(std::move(command));
    co_return Submitted{.knew = knew, .result = std::move(result)};
  }

  std::unique_ptr<LogCoordinator> coordinator_;
  std::int64_t next_object_ = 0;
};

TEST_F(CommitRefusalTest, NoneOvertakesTheOneThatWasRefused) {
  log_.set_delays({.before = milliseconds(5)});
  log_.fail_append(1, MemoryLog::Effect::kNone, ErrorCode::kRefused);
  auto first = begin(coordinator_->submit(commit()));
  run_for(milliseconds(2));  // it is with the log
  std::vector<Pending<Submitted>> behind{begin(submit(commit(), first))};
  auto other = begin(coordinator_->submit(AllocateProducerIds{}));
  // Whatever else runs before its submitter does, who would not submit these after it.
  clock_.advance(milliseconds(5));
  for (int step = 0; !first.done() && step < 100; ++step) {
    context_.restart();
    context_.poll_one();
    behind.push_back(begin(submit(commit(), first)));
  }
  ASSERT_TRUE(first.done());
  EXPECT_EQ(finish(first).error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(finish(other));
  int unknowing = 0;
  for (auto& pending : behind) {
    Submitted one = finish(pending);
    unknowing += one.knew ? 0 : 1;
    EXPECT_EQ(one.knew, one.result.has_value());
  }
  EXPECT_GT(unknowing, 3);
}

// The writer of the object deletes it when its commit is told to have failed.
TEST_F(CommitRefusalTest, OnlyARefusalOfTheLogTellsThatNothingWasAppended) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < kErrorCodes; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (code == ErrorCode::kRefused) continue;
    for (const auto effect : {MemoryLog::Effect::kDone, MemoryLog::Effect::kNone}) {
      log_.fail_append(1, effect, code);
      auto committed = run(coordinator_->submit(commit()));
      ASSERT_TRUE(committed) << committed.error().to_string();
      EXPECT_EQ(committed->batches.at(0).base_offset, offset++) << to_string(code);
    }
  }
}

TEST_F(CommitRefusalTest, ARefusalAfterAnUnknownOutcomeDoesNotSettleIt) {
  log_.fail_append(1, MemoryLog::Effect::kDone, ErrorCode::kInvalid);
  log_.fail_append(2, MemoryLog::Effect::kNone, ErrorCode::kRefused);
  log_.set_delays({.before = milliseconds(5)});
  auto committed = run(coordinator_->submit(commit()));
  ASSERT_TRUE(committed) << committed.error().to_string();
  EXPECT_EQ(committed->batches.at(0).base_offset, 0);
}

TEST_F(CommitRefusalTest, NoneOvertakesTheOneOfAnEpochThatEnded) {
  auto old = begin(coordinator_->submit(commit(coordinator_->broker_epoch() - 1)));
  auto behind = begin(coordinator_->submit(commit()));
  EXPECT_EQ(finish(old).error().code, ErrorCode::kFenced);
  EXPECT_EQ(finish(behind).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(run(coordinator_->submit(commit())));
}

}  // namespace
}  // namespace weir::metadata

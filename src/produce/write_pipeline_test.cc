#include "kafka/records/validation.h"
#include "produce/write_pipeline_fixture.h"
#include "runtime/rng.h"

namespace weir::produce {
namespace {

using kafka::KafkaError;
using std::chrono::milliseconds;

TEST_F(WritePipelineTest, AnswersWithTheOffsetsOfTheCommit) {
  auto first = stage({{0, batch_of(3)}, {1, batch_of(1)}});
  poll();
  auto second = stage({{0, batch_of(2)}});
  poll();
  auto got = outcomes(first);
  EXPECT_EQ(got[0].error, KafkaError::kNone);
  EXPECT_EQ(got[0].base_offset, 0);
  EXPECT_EQ(got[0].log_append_time_ms, kNoTimestamp);
  EXPECT_EQ(got[1].base_offset, 0);
  EXPECT_EQ(outcomes(second)[0].base_offset, 3);
  EXPECT_EQ(coordinator_.image()->topic("t")->partition(0)->view().high_watermark, 5);
}

// An object has its batches in the order of their partitions.
TEST_F(WritePipelineTest, EveryBatchGetsItsOwnOutcomeHoweverTheyAreStaged) {
  stage({{1, batch_of(5)}});
  poll();
  auto write = stage({{1, batch_of(1)}, {0, batch_of(2)}});
  poll();
  EXPECT_EQ(outcomes(write)[0].base_offset, 5);
  EXPECT_EQ(outcomes(write)[1].base_offset, 0);
  auto timed = stage({{0, batch_of(1)}});
  poll();
  run_task(context_, timed->wait_until(clock_, clock_.now() + milliseconds(1000)));
  EXPECT_EQ(clock_.pending(), 0U);  // the deadline is over with the answer
}

TEST_F(WritePipelineTest, ABatchThatIsStampedGetsTheTimeOfItsCommit) {
  log_append_time_ = true;
  auto stamped = stage({{0, batch_of(2)}});
  poll();
  log_append_time_ = false;
  auto own = stage({{0, batch_of(1)}});
  poll();
  EXPECT_EQ(outcomes(stamped)[0].log_append_time_ms, clock_.wall_ms());
  EXPECT_EQ(outcomes(own)[0].log_append_time_ms, kNoTimestamp);
  auto view = coordinator_.image()->topic("t")->partition(0)->view();
  EXPECT_TRUE(view.extents[0].log_append_time);
  EXPECT_EQ(view.extents[0].max_timestamp, clock_.wall_ms());
  EXPECT_FALSE(view.extents[1].log_append_time);
  EXPECT_EQ(view.extents[1].max_timestamp, 1000);
}

TEST_F(WritePipelineTest, AnIdlePipelineMakesNoObjects) {
  for (int i = 0; i < 100; ++i) {
    clock_.advance(milliseconds(100));
    poll();
  }
  EXPECT_EQ(memory_.size(), 0U);
  EXPECT_EQ(clock_.pending(), 0U);
}

TEST_F(WritePipelineTest, TheStoredObjectHoldsTheBytesThatWereStaged) {
  Slice batch = batch_of(3);
  stage({{2, batch}});
  poll();
  ASSERT_EQ(written_.objects.size(), 1U);
  const auto& [key, bytes] = *written_.objects.begin();
  // Not a copy: the cache gets the slice that the producer sent.
  EXPECT_EQ(bytes.slices().front().data(), batch.data());
  Slice stored = *run_task(context_, memory_.get(key));
  auto contents = storage::parse_wal_object(stored.bytes());
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->index.runs.front().partition, (TopicPartition{kTopic, 2}));
  EXPECT_EQ(contents->footer.id.cluster, (Uuid{1, 2}));
}

TEST_F(WritePipelineTest, AFailedPutIsARetriableErrorWithoutAnOffset) {
  store_.set_plan([](const storage::StoreCall& call) {
    storage::StoreFault fault;
    if (call.operation == storage::StoreOperation::kPut)
      fault.error = Error{ErrorCode::kUnavailable, "down"};
    return fault;
  });
  auto failed = stage({{0, batch_of(1)}});
  poll();
  EXPECT_EQ(outcomes(failed)[0].error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(outcomes(failed)[0].base_offset, kNoOffset);
  EXPECT_EQ(coordinator_.submitted(), 0U);
  store_.set_plan({});
  auto next = stage({{0, batch_of(1)}});
  poll();
  EXPECT_EQ(outcomes(next)[0].base_offset, 0);
}

TEST_F(WritePipelineTest, AFailedPutWhoseBytesArrivedLeavesNoObject) {
  store_.set_plan([](const storage::StoreCall& call) {
    storage::StoreFault fault;
    if (call.operation != storage::StoreOperation::kPut) return fault;
    fault.error = Error{ErrorCode::kTimeout, "no answer"};
    fault.takes_effect = true;
    return fault;
  });
  auto failed = stage({{0, batch_of(1)}});
  poll();
  EXPECT_EQ(outcomes(failed)[0].error, KafkaError::kRequestTimedOut);
  EXPECT_EQ(memory_.size(), 0U);
}

TEST_F(WritePipelineTest, APutThatArrivesAfterItWasGivenUpIsRemovedLater) {
  store_.fail_call(1, Error{ErrorCode::kTimeout, "no answer"});
  auto write = stage({{0, batch_of(1)}});
  poll();
  EXPECT_NE(outcomes(write)[0].error, KafkaError::kNone);
  storage::ObjectKey key = storage::wal_object_key(coordinator_.broker_epoch(), 1);
  ASSERT_TRUE(run_task(context_, memory_.put(key, Chain(Slice::copy_of("late")), {})));
  clock_.advance(std::chrono::minutes(9));
  poll();
  EXPECT_EQ(memory_.size(), 1U);
  clock_.advance(std::chrono::minutes(2));
  poll();
  EXPECT_EQ(memory_.size(), 0U);
}

TEST_F(WritePipelineTest, AnObjectThatCouldNotBeRemovedIsRemovedLater) {
  coordinator_.set_failure(Error{ErrorCode::kUnavailable, "down"});
  store_.fail_call(2, Error{ErrorCode::kUnavailable, "the removal fails"});
  auto write = stage({{0, batch_of(1)}});
  poll();
  EXPECT_NE(outcomes(write)[0].error, KafkaError::kNone);
  EXPECT_EQ(memory_.size(), 1U);
  clock_.advance(std::chrono::minutes(11));
  poll();
  EXPECT_EQ(memory_.size(), 0U);
  coordinator_.set_failure(std::nullopt);
}

TEST_F(WritePipelineTest, ACommitThatTheLogRefusesIsARetriableErrorAndLeavesNoObject) {
  coordinator_.set_failure(Error{ErrorCode::kUnavailable, "the log is down"});
  auto failed = stage({{0, batch_of(1)}});
  poll();
  EXPECT_EQ(outcomes(failed)[0].error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(memory_.size(), 0U);
  coordinator_.set_failure(std::nullopt);
}

// The commit may stand in the log after all: then the object must be there.
TEST_F(WritePipelineTest, ACommitOfUnknownOutcomeLeavesTheObject) {
  coordinator_.set_failure(Error{ErrorCode::kCancelled, "the coordinator stops"});
  auto unknown = stage({{0, batch_of(1)}});
  poll();
  EXPECT_EQ(outcomes(unknown)[0].error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(memory_.size(), 1U);
  coordinator_.set_failure(std::nullopt);
}

TEST_F(WritePipelineTest, ASlowPutHoldsUpOnlyObjectsThatShareAPartition) {
  auto gate = hold_first_put(store_);
  auto slow = stage({{0, batch_of(1)}});
  poll();
  auto same = stage({{0, batch_of(1)}});
  clock_.advance(milliseconds(250));
  poll();
  auto other = stage({{1, batch_of(1)}});
  clock_.advance(milliseconds(250));
  poll();
  EXPECT_EQ(memory_.size(), 2U);
  EXPECT_EQ(outcomes(other)[0].error, KafkaError::kNone);
  EXPECT_EQ(coordinator_.image()->topic("t")->partition(0)->view().high_watermark, 0);
  gate->open();
  poll();
  EXPECT_EQ(outcomes(slow)[0].base_offset, 0);
  EXPECT_EQ(outcomes(same)[0].base_offset, 1);
}

TEST_F(WritePipelineTest, AFailedPutFreesTheObjectsThatWaitForIt) {
  auto gate = hold_first_put(store_, Error{ErrorCode::kUnavailable, "down"});
  auto failed = stage({{0, batch_of(1)}});
  poll();
  auto waits = stage({{0, batch_of(1)}});
  clock_.advance(milliseconds(250));
  poll();
  EXPECT_EQ(memory_.size(), 1U);
  EXPECT_EQ(coordinator_.submitted(), 0U);
  gate->open();
  poll();
  EXPECT_EQ(outcomes(failed)[0].error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(outcomes(waits)[0].base_offset, 0);
}

TEST_F(WritePipelineTest, WhatIsNotCommittedInTimeIsTimedOut) {
  auto gate = hold_first_put(store_);
  auto slow = stage({{0, batch_of(1)}});
  poll();
  EXPECT_EQ(outcomes(slow)[0].error, KafkaError::kRequestTimedOut);
  gate->open();
}

TEST_F(WritePipelineTest, ADuplicateIsAnsweredWithItsFirstOffset) {
  auto first = stage({{0, batch_of(2, 9, 0)}});
  poll();
  auto gap = stage({{0, batch_of(1, 9, 5)}});
  poll();
  auto again = stage({{0, batch_of(2, 9, 0)}});
  poll();
  EXPECT_EQ(outcomes(first)[0].base_offset, 0);
  EXPECT_EQ(outcomes(gap)[0].error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(outcomes(gap)[0].base_offset, kNoOffset);
  EXPECT_EQ(outcomes(again)[0].error, KafkaError::kNone);
  EXPECT_EQ(outcomes(again)[0].base_offset, 0);
  EXPECT_EQ(coordinator_.image()->topic("t")->partition(0)->view().high_watermark, 2);
}

TEST_F(WritePipelineTest, DrainingAnswersEverythingThatIsStaged) {
  auto gate = hold_first_put(store_);
  auto slow = stage({{0, batch_of(1)}});
  poll();
  auto staged = stage({{0, batch_of(1)}}, 1);
  bool is_drained = false;
  boost::asio::co_spawn(context_, pipeline_->drain(),
                        [&](const std::exception_ptr&) { is_drained = true; });
  poll();
  EXPECT_FALSE(is_drained);
  gate->open();
  poll();
  EXPECT_TRUE(is_drained);
  EXPECT_EQ(outcomes(slow)[0].error, KafkaError::kNone);
  EXPECT_EQ(outcomes(staged)[0].error, KafkaError::kNone);
}

TEST_F(WritePipelineTest, NothingIsUploadedThatWouldBeRefused) {
  coordinator_.set_refusal(Error{ErrorCode::kUnavailable, "the metadata log is down"});
  auto refused = stage({{0, batch_of(1)}, {1, batch_of(1)}});
  poll();
  for (const BatchOutcome& outcome : outcomes(refused))
    EXPECT_EQ(outcome.error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(store_.calls(), 0U);
  EXPECT_EQ(coordinator_.submitted(), 0U);
  coordinator_.set_refusal({});
  auto taken = stage({{0, batch_of(1)}});
  poll();
  EXPECT_EQ(outcomes(taken)[0].base_offset, 0);
}

TEST_F(WritePipelineTest, WhatComesWhileTheBrokerIsRegisteredAnewIsCommittedThen) {
  coordinator_.set_refusal(Error{ErrorCode::kFenced, "the epoch has ended"});
  auto held = stage({{0, batch_of(1)}});
  poll();
  clock_.advance(std::chrono::seconds(4));
  poll();
  EXPECT_EQ(store_.calls(), 0U);
  coordinator_.set_refusal({});
  clock_.advance(std::chrono::milliseconds(20));
  poll();
  EXPECT_EQ(outcomes(held)[0].base_offset, 0);
}

TEST_F(WritePipelineTest, ABrokerThatStaysFencedRefusesWhatWaitsForIt) {
  coordinator_.set_refusal(Error{ErrorCode::kFenced, "the epoch has ended"});
  auto held = stage({{0, batch_of(1)}});
  poll();
  clock_.advance(std::chrono::seconds(5));
  poll();
  EXPECT_EQ(outcomes(held)[0].error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(store_.calls(), 0U);
}

TEST_F(WritePipelineTest, ABrokerThatIsFencedAndStopsWaitsForNothing) {
  coordinator_.set_refusal(Error{ErrorCode::kFenced, "the epoch has ended"});
  auto held = stage({{0, batch_of(1)}});
  poll();
  run_task(context_, pipeline_->drain());
  EXPECT_EQ(outcomes(held)[0].error, KafkaError::kKafkaStorageError);
}

// Whoever stops waits for no second call to a store that did not answer the first.
TEST_F(WritePipelineTest, DrainingDoesNotRemoveWhatCouldNotBeWritten) {
  auto gate = hold_first_put(store_, Error{ErrorCode::kTimeout, "no answer"});
  auto failed = stage({{0, batch_of(1)}});
  poll();
  bool is_drained = false;
  boost::asio::co_spawn(context_, pipeline_->drain(),
                        [&](const std::exception_ptr&) { is_drained = true; });
  gate->open();
  poll();
  EXPECT_TRUE(is_drained);
  EXPECT_EQ(outcomes(failed)[0].error, KafkaError::kRequestTimedOut);
  EXPECT_EQ(store_.calls(storage::StoreOperation::kRemove), 0U);
}

// All batches of an object are committed together: one that the commit refuses would take the
// others with it.
TEST_F(WritePipelineTest, WhateverAProducerMaySendCanBeCommitted) {
  Rng rng(5);
  auto one_of = [&](auto... values) {
    std::array<std::int64_t, sizeof...(values)> all{values...};
    return all[rng.below(all.size())];
  };
  std::size_t taken = 0;
  for (int i = 0; i < 500; ++i) {
    Slice good = batch_of(2);
    auto header = kafka::BatchHeader::of(kafka::RecordBatchView(good.bytes()));
    header.producer_id = one_of(-1, -1, -9, INT64_MIN, 0, 3 + i);
    header.producer_epoch = static_cast<ProducerEpoch>(one_of(-1, -7, 0, 0, 5));
    header.base_sequence = static_cast<std::int32_t>(one_of(-1, -7, 0, 0, 5, INT32_MAX));
    header.base_timestamp = one_of(1000, -1, -500, INT64_MIN, INT64_MAX);
    header.max_timestamp = one_of(1000, -1, -500, INT64_MIN, INT64_MAX);
    kafka::ValidationRules rules;
    rules.log_append_time = log_append_time_ = rng.below(2) == 0;
    rules.timestamp_after_max_ms = INT64_MAX;
    std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
    auto verdict = kafka::validate_batch(kafka::seal_batch(std::move(bytes), header), rules, 0);
    if (!verdict) continue;
    ++taken;
    auto write = stage({{0, verdict->batch}, {1, batch_of(1)}});
    poll();
    EXPECT_NE(outcomes(write)[0].error, KafkaError::kKafkaStorageError)
        << header.producer_id << ' ' << header.producer_epoch << ' ' << header.base_sequence << ' '
        << header.max_timestamp;
    EXPECT_EQ(outcomes(write)[1].error, KafkaError::kNone);
  }
  EXPECT_GT(taken, 100U);
}

class NeverEarlyTest : public WritePipelineTest {
 protected:
  NeverEarlyTest() : WritePipelineTest({.buffer_max = 1000, .early_puts_per_second = 0.0}) {}
};

TEST_F(NeverEarlyTest, BatchesOfOneIntervalShareAnObject) {
  auto first = stage({{0, batch_of(1)}});
  poll();
  clock_.advance(milliseconds(249));
  auto second = stage({{1, batch_of(1)}}, 1);
  poll();
  EXPECT_EQ(memory_.size(), 0U);
  clock_.advance(milliseconds(1));
  poll();
  EXPECT_EQ(memory_.size(), 1U);
  EXPECT_EQ(outcomes(first)[0].error, KafkaError::kNone);
  EXPECT_EQ(outcomes(second)[0].error, KafkaError::kNone);
}

TEST_F(NeverEarlyTest, NothingWaitsForTheIntervalOnceTheBrokerStops) {
  auto staged = stage({{0, batch_of(1)}});
  poll();
  EXPECT_EQ(memory_.size(), 0U);
  pipeline_->hurry();
  poll();
  EXPECT_EQ(outcomes(staged)[0].base_offset, 0);
  auto later = stage({{0, batch_of(1)}}, 1);
  poll();
  EXPECT_EQ(outcomes(later)[0].base_offset, 1);
}

TEST_F(NeverEarlyTest, AFullBufferDoesNotWait) {
  auto full = stage({{0, batch_of(100)}});
  poll();
  EXPECT_EQ(outcomes(full)[0].base_offset, 0);
}

}  // namespace
}  // namespace weir::produce

// Idempotent producers when objects fail. The state machine takes any first sequence of a producer.
#include "produce/write_pipeline_fixture.h"

namespace weir::produce {
namespace {

using kafka::KafkaError;
using std::chrono::milliseconds;

constexpr ProducerId kProducer = 9;

class SequencesTest : public WritePipelineTest {
 protected:
  std::shared_ptr<PendingWrite> stage_sequence(std::int32_t sequence) {
    auto write = stage({{0, batch_of(1, kProducer, sequence)}});
    clock_.advance(milliseconds(250));
    poll();
    return write;
  }
  BatchOutcome outcome(const std::shared_ptr<PendingWrite>& write) {
    return outcomes(write).front();
  }
  // All that was refused is sent again, in its order.
  void expect_retries_succeed() {
    for (std::int32_t sequence = 0; sequence < 3; ++sequence) {
      const BatchOutcome again = outcome(stage_sequence(sequence));
      EXPECT_EQ(again.error, KafkaError::kNone) << sequence;
      EXPECT_EQ(again.base_offset, sequence);
    }
  }
};

TEST_F(SequencesTest, WhatWasOnItsWayBehindAFailedBatchFailsToo) {
  auto gate = hold_first_put(store_, Error{ErrorCode::kUnavailable, "down"});
  auto first = stage_sequence(0);
  auto second = stage_sequence(1);
  auto other = stage({{0, batch_of(1)}, {1, batch_of(1, kProducer, 0)}});
  clock_.advance(milliseconds(250));
  poll();
  auto third = stage_sequence(2);
  gate->open();
  poll();
  EXPECT_EQ(outcome(first).error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(outcome(second).error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(outcome(third).error, KafkaError::kKafkaStorageError);
  // Another producer, and the same one in another partition, are not behind it.
  EXPECT_EQ(outcomes(other)[0].error, KafkaError::kNone);
  EXPECT_EQ(outcomes(other)[1].error, KafkaError::kNone);
  EXPECT_EQ(coordinator_.image()->topic("t")->partition(0)->view().high_watermark, 1);
}

TEST_F(SequencesTest, WhatIsStagedAfterAFailedBatchWaitsForItsRetry) {
  store_.fail_call(1, Error{ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(outcome(stage_sequence(0)).error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(outcome(stage_sequence(1)).error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(outcome(stage_sequence(2)).error, KafkaError::kKafkaStorageError);
  expect_retries_succeed();
}

TEST_F(SequencesTest, ARefusedCommitKeepsItsProducersBehindIt) {
  coordinator_.set_failure(Error{ErrorCode::kUnavailable, "the log is down"});
  EXPECT_EQ(outcome(stage_sequence(0)).error, KafkaError::kKafkaStorageError);
  coordinator_.set_failure(std::nullopt);
  EXPECT_EQ(outcome(stage_sequence(1)).error, KafkaError::kKafkaStorageError);
  expect_retries_succeed();
}

}  // namespace
}  // namespace weir::produce

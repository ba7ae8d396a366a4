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

// Each PUT fails or succeeds as the plan has it when its gate opens; those beyond succeed at once.
struct HeldPut {
  std::shared_ptr<storage::StoreGate> gate = std::make_shared<storage::StoreGate>();
  bool fails = false;
};

void hold_puts(storage::FaultyStore& store, std::vector<HeldPut> puts) {
  store.set_plan([puts = std::move(puts), seen = 0U](const storage::StoreCall& call) mutable {
    if (call.operation != storage::StoreOperation::kPut || seen == puts.size())
      return storage::StoreFault{};
    const HeldPut& put = puts[seen++];
    storage::StoreFault fault{.hold = put.gate};
    if (put.fails) fault.error = Error{ErrorCode::kUnavailable, "down"};
    return fault;
  });
}

TEST_F(SequencesTest, WhatIsStillUploadingDoesNotOvertakeTheRetry) {
  const HeldPut first{.fails = true};
  const HeldPut second;
  hold_puts(store_, {first, second});
  auto failed = stage_sequence(0);
  auto overtaking = stage_sequence(1);
  first.gate->open();
  poll();
  EXPECT_EQ(outcome(failed).error, KafkaError::kKafkaStorageError);
  auto again = stage_sequence(0);
  second.gate->open();
  poll();
  EXPECT_EQ(outcome(overtaking).error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(outcome(again).error, KafkaError::kNone);
  expect_retries_succeed();
}

TEST_F(SequencesTest, TheLaterOneMayFailFirst) {
  const HeldPut first{.fails = true};
  const HeldPut second{.fails = true};
  hold_puts(store_, {first, second});
  auto one = stage_sequence(0);
  auto two = stage_sequence(1);
  second.gate->open();
  poll();
  first.gate->open();
  poll();
  EXPECT_EQ(outcome(one).error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(outcome(two).error, KafkaError::kKafkaStorageError);
  expect_retries_succeed();
}

}  // namespace
}  // namespace weir::produce

#include "produce/sequence_gate.h"

#include <gtest/gtest.h>

namespace weir::produce {
namespace {

constexpr MonoTime kStart{std::chrono::hours(1)};

SequencedBatch batch_of(std::int32_t sequence, ProducerId producer = 7, ProducerEpoch epoch = 0,
                        PartitionIndex partition = 0) {
  return {.partition = {{1, 1}, partition},
          .producer_id = producer,
          .producer_epoch = epoch,
          .base_sequence = sequence};
}

class SequenceGateTest : public ::testing::Test {
 protected:
  // Launches and submits it, if it may.
  bool passes(const SequencedBatch& batch) {
    return gate_.may_launch(batch, now_) && gate_.may_submit(batch, now_);
  }
  void fail(const SequencedBatch& batch) { gate_.on_failed(batch, now_); }

  SequenceGate gate_;
  MonoTime now_ = kStart;
};

TEST_F(SequenceGateTest, WhatComesBehindAFailedBatchWaitsForIt) {
  EXPECT_TRUE(passes(batch_of(0)));
  fail(batch_of(0));
  EXPECT_FALSE(passes(batch_of(3)));
  EXPECT_FALSE(passes(batch_of(5)));
  EXPECT_TRUE(passes(batch_of(0)));
  EXPECT_TRUE(passes(batch_of(3)));
  gate_.on_judged(batch_of(0));
  EXPECT_TRUE(gate_.is_open(now_));
}

TEST_F(SequenceGateTest, TheEarliestIsMissingInWhateverOrderTheyFail) {
  fail(batch_of(3));
  fail(batch_of(0));
  fail(batch_of(5));
  EXPECT_FALSE(passes(batch_of(3)));
  EXPECT_TRUE(passes(batch_of(0)));
  gate_.on_judged(batch_of(3));  // another one
  EXPECT_FALSE(gate_.is_open(now_));
}

TEST_F(SequenceGateTest, SequencesGoOnFromZero) {
  fail(batch_of(INT32_MAX - 1));
  EXPECT_FALSE(passes(batch_of(4)));
  fail(batch_of(4));
  EXPECT_TRUE(passes(batch_of(INT32_MAX - 1)));
}

// The object with the later batch was launched before the first one came again.
TEST_F(SequenceGateTest, WhatIsOnItsWayDoesNotOvertakeTheRetry) {
  EXPECT_TRUE(gate_.may_launch(batch_of(1), now_));
  fail(batch_of(0));
  EXPECT_TRUE(gate_.may_launch(batch_of(0), now_));
  EXPECT_FALSE(gate_.may_submit(batch_of(1), now_));
  fail(batch_of(1));
  EXPECT_TRUE(gate_.may_launch(batch_of(1), now_));  // behind the retry
  EXPECT_TRUE(gate_.may_submit(batch_of(0), now_));
  EXPECT_TRUE(gate_.may_submit(batch_of(1), now_));
}

TEST_F(SequenceGateTest, ARetryThatFailsIsMissingAgain) {
  fail(batch_of(0));
  EXPECT_TRUE(passes(batch_of(0)));
  EXPECT_TRUE(gate_.may_launch(batch_of(1), now_));
  fail(batch_of(0));
  EXPECT_FALSE(gate_.may_submit(batch_of(1), now_));
  EXPECT_FALSE(gate_.may_launch(batch_of(2), now_));
}

TEST_F(SequenceGateTest, OthersAreNotHeldUp) {
  fail(batch_of(0));
  EXPECT_TRUE(passes(batch_of(4, 8)));
  EXPECT_TRUE(passes(batch_of(4, 7, 0, 1)));
  EXPECT_FALSE(passes(batch_of(4)));
}

TEST_F(SequenceGateTest, ANewEpochStartsAnew) {
  fail(batch_of(4));
  EXPECT_TRUE(passes(batch_of(0, 7, 1)));
  fail(batch_of(0, 7, 1));
  fail(batch_of(3));  // late, of the old one
  EXPECT_FALSE(passes(batch_of(1, 7, 1)));
}

TEST_F(SequenceGateTest, ProducersWithoutSequencesPass) {
  fail(batch_of(-1, -1, -1));
  EXPECT_TRUE(gate_.is_open(now_));
  fail(batch_of(0));
  EXPECT_TRUE(passes(batch_of(-1, -1, -1)));
}

TEST_F(SequenceGateTest, AFailureIsForgottenAfterAWhile) {
  fail(batch_of(0));
  now_ += SequenceGate::kMemory - Duration(1);
  EXPECT_FALSE(passes(batch_of(1)));
  fail(batch_of(0));  // anew: its time counts from here
  now_ += SequenceGate::kMemory - Duration(1);
  EXPECT_FALSE(passes(batch_of(1)));
  now_ += Duration(1);
  EXPECT_TRUE(passes(batch_of(1)));
}

TEST_F(SequenceGateTest, TheOldestMakeRoom) {
  for (std::size_t i = 0; i <= SequenceGate::kMost; ++i)
    fail(batch_of(0, static_cast<ProducerId>(i)));
  EXPECT_TRUE(passes(batch_of(1, 0)));
  EXPECT_FALSE(passes(batch_of(1, 1)));
  EXPECT_FALSE(passes(batch_of(1, SequenceGate::kMost)));
}

}  // namespace
}  // namespace weir::produce

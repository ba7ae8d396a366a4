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

TEST(SequenceGateTest, WhatComesBehindAFailedBatchWaitsForIt) {
  SequenceGate gate;
  EXPECT_FALSE(gate.refuses(batch_of(0), kStart));
  gate.on_failed(batch_of(0), kStart);
  gate.on_failed(batch_of(3), kStart);  // failed as well, but the first one is what is missing
  EXPECT_TRUE(gate.refuses(batch_of(3), kStart));
  EXPECT_TRUE(gate.refuses(batch_of(5), kStart));
  EXPECT_FALSE(gate.refuses(batch_of(0), kStart));
  EXPECT_FALSE(gate.refuses(batch_of(3), kStart));
}

TEST(SequenceGateTest, OthersAreNotHeldUp) {
  SequenceGate gate;
  gate.on_failed(batch_of(0), kStart);
  EXPECT_FALSE(gate.refuses(batch_of(4, 8), kStart));
  EXPECT_FALSE(gate.refuses(batch_of(4, 7, 0, 1), kStart));
  EXPECT_TRUE(gate.refuses(batch_of(4), kStart));
}

TEST(SequenceGateTest, ANewEpochStartsAnew) {
  SequenceGate gate;
  gate.on_failed(batch_of(4), kStart);
  EXPECT_FALSE(gate.refuses(batch_of(0, 7, 1), kStart));
  EXPECT_TRUE(gate.is_open(kStart));
  gate.on_failed(batch_of(4), kStart);
  gate.on_failed(batch_of(0, 7, 1), kStart);
  EXPECT_TRUE(gate.refuses(batch_of(1, 7, 1), kStart));
}

TEST(SequenceGateTest, ProducersWithoutSequencesPass) {
  SequenceGate gate;
  gate.on_failed(batch_of(-1, -1, -1), kStart);
  EXPECT_TRUE(gate.is_open(kStart));
  gate.on_failed(batch_of(0), kStart);
  EXPECT_FALSE(gate.refuses(batch_of(-1, -1, -1), kStart));
}

TEST(SequenceGateTest, AFailureIsForgottenAfterAWhile) {
  SequenceGate gate;
  gate.on_failed(batch_of(0), kStart);
  EXPECT_TRUE(gate.refuses(batch_of(1), kStart + SequenceGate::kMemory - Duration(1)));
  // Anew: its time counts from here.
  EXPECT_FALSE(gate.refuses(batch_of(0), kStart + SequenceGate::kMemory - Duration(1)));
  gate.on_failed(batch_of(0), kStart + SequenceGate::kMemory - Duration(1));
  EXPECT_TRUE(gate.refuses(batch_of(1), kStart + SequenceGate::kMemory));
  EXPECT_FALSE(gate.refuses(batch_of(1), kStart + 2 * SequenceGate::kMemory));
}

TEST(SequenceGateTest, TheOldestMakeRoom) {
  SequenceGate gate;
  for (std::size_t i = 0; i <= SequenceGate::kMost; ++i)
    gate.on_failed(batch_of(0, static_cast<ProducerId>(i)), kStart);
  EXPECT_FALSE(gate.refuses(batch_of(1, 0), kStart));
  EXPECT_TRUE(gate.refuses(batch_of(1, 1), kStart));
  EXPECT_TRUE(gate.refuses(batch_of(1, SequenceGate::kMost), kStart));
}

}  // namespace
}  // namespace weir::produce

// The rules of KIP-98 for sequence numbers, through commits: kafka-protocol.md cases 39 to 43.
#include "metadata/state/producer_table.h"

#include "metadata/state/test_log.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::metadata {
namespace {

using kafka::KafkaError;

constexpr std::int32_t kMaxSequence = std::numeric_limits<std::int32_t>::max();

class Idempotence : public testing::Test {
 protected:
  // Commits one batch in an object of its own.
  BatchResult commit(std::int32_t records, ProducerEpoch epoch, std::int32_t sequence,
                     ProducerId producer = 7) {
    ObjectBuilder builder(next_object_++);
    builder.run(topic_).batch(records, producer, epoch, sequence);
    if (log_append_time_) builder.log_append_time();
    return log_.apply(builder).batches.at(0);
  }
  Offset high_watermark() { return log_.view(topic_).high_watermark; }

  TestLog log_;
  TopicId topic_ = log_.create_topic("orders");
  std::int64_t next_object_ = 0;
  bool log_append_time_ = false;
};

TEST_F(Idempotence, SequencesFollowEachOther) {
  EXPECT_EQ(commit(3, 0, 0).base_offset, 0);
  EXPECT_EQ(commit(2, 0, 3).base_offset, 3);
  EXPECT_EQ(commit(1, 0, 5).base_offset, 5);
  EXPECT_EQ(high_watermark(), 6);
}

TEST_F(Idempotence, ADuplicateAnswersTheOriginalOffset) {
  commit(3, 0, 0);
  commit(2, 0, 3);
  BatchResult again = commit(3, 0, 0);
  EXPECT_EQ(again.error, KafkaError::kNone);
  EXPECT_EQ(again.base_offset, 0);
  EXPECT_EQ(again.append_time, TestLog::kStart);  // of the batch: Kafka answers repeated batches so
  EXPECT_EQ(commit(2, 0, 3).base_offset, 3);
  EXPECT_EQ(high_watermark(), 5);
  EXPECT_EQ(log_.view(topic_).extents.size(), 2U);
}

TEST_F(Idempotence, ADuplicateAnswersTheOriginalAppendTime) {
  log_append_time_ = true;
  EXPECT_EQ(commit(1, 0, 0).append_time, TestLog::kStart);
  log_.now += 1000;
  EXPECT_EQ(commit(1, 0, 1).append_time, TestLog::kStart + 1000);
  log_.now += 1000;
  EXPECT_EQ(commit(1, 0, 0).append_time, TestLog::kStart);
}

TEST_F(Idempotence, TheLastFiveBatchesAreKnown) {
  for (int i = 0; i < 6; ++i) EXPECT_EQ(commit(1, 0, i).base_offset, i);
  for (int i = 1; i < 6; ++i) {
    BatchResult again = commit(1, 0, i);
    EXPECT_EQ(again.error, KafkaError::kNone) << i;
    EXPECT_EQ(again.base_offset, i);
  }
  // The sixth from the end is forgotten: an old sequence is then out of order.
  EXPECT_EQ(commit(1, 0, 0).error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(high_watermark(), 6);
}

TEST_F(Idempotence, OnlyTheSameBoundsAreADuplicate) {
  commit(4, 0, 0);
  EXPECT_EQ(commit(3, 0, 0).error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(commit(2, 0, 2).error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(commit(5, 0, 0).error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(high_watermark(), 4);
}

TEST_F(Idempotence, AGapIsOutOfOrder) {
  commit(3, 0, 0);
  BatchResult gap = commit(1, 0, 4);
  EXPECT_EQ(gap.error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(gap.base_offset, kNoOffset);
  EXPECT_EQ(commit(1, 0, 3).base_offset, 3);
}

TEST_F(Idempotence, AfterAFailedBatchThoseBehindItFailToo) {
  commit(1, 0, 0);
  CommandResult result = log_.apply(ObjectBuilder(next_object_++)
                                        .run(topic_)
                                        .batch(1, 7, 0, 2)
                                        .batch(1, 7, 0, 3)
                                        .batch(1, 8, 0, 0));
  EXPECT_EQ(result.batches[0].error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(result.batches[1].error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(result.batches[2].base_offset, 1);  // another producer is not concerned
}

TEST_F(Idempotence, AnUnknownProducerMayStartAnywhere) {
  EXPECT_EQ(commit(2, 3, 1000).base_offset, 0);
  EXPECT_EQ(commit(1, 3, 1002).base_offset, 2);
}

TEST_F(Idempotence, SequencesWrapBetweenBatches) {
  EXPECT_EQ(commit(1, 0, kMaxSequence).base_offset, 0);
  EXPECT_EQ(commit(1, 0, 0).base_offset, 1);
  EXPECT_EQ(commit(1, 0, kMaxSequence).base_offset, 0);  // still a duplicate
}

TEST_F(Idempotence, SequencesWrapInsideABatch) {
  // Sequences 2147483646, 2147483647, 0, 1, 2.
  EXPECT_EQ(commit(5, 0, kMaxSequence - 1).base_offset, 0);
  EXPECT_EQ(commit(1, 0, 3).base_offset, 5);
  EXPECT_EQ(commit(5, 0, kMaxSequence - 1).base_offset, 0);
  EXPECT_EQ(commit(1, 0, 5).error, KafkaError::kOutOfOrderSequenceNumber);
}

TEST(AdvanceSequence, WrapsAfterTheGreatest) {
  EXPECT_EQ(advance_sequence(0, 0), 0);
  EXPECT_EQ(advance_sequence(5, 7), 12);
  EXPECT_EQ(advance_sequence(kMaxSequence, 0), kMaxSequence);
  EXPECT_EQ(advance_sequence(kMaxSequence, 1), 0);
  EXPECT_EQ(advance_sequence(kMaxSequence - 1, 4), 2);
  EXPECT_EQ(advance_sequence(kMaxSequence, kMaxSequence), kMaxSequence - 1);
}

TEST_F(Idempotence, ALowerEpochIsFenced) {
  commit(1, 2, 0);
  EXPECT_EQ(commit(1, 1, 1).error, KafkaError::kInvalidProducerEpoch);
  EXPECT_EQ(commit(1, 1, 0).error, KafkaError::kInvalidProducerEpoch);
  EXPECT_EQ(commit(1, 2, 1).base_offset, 1);
}

TEST_F(Idempotence, AHigherEpochStartsAtZero) {
  commit(5, 0, 0);
  EXPECT_EQ(commit(1, 1, 5).error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(commit(5, 0, 0).base_offset, 0);  // the rejected one changed nothing
  EXPECT_EQ(commit(1, 1, 0).base_offset, 5);
  EXPECT_EQ(commit(1, 1, 1).base_offset, 6);
  EXPECT_EQ(commit(5, 0, 0).error, KafkaError::kInvalidProducerEpoch);
}

TEST_F(Idempotence, ABatchOfTheOldEpochIsNoDuplicateInTheNew) {
  commit(2, 0, 0);
  // The same bounds as the batch of epoch 0, but new.
  EXPECT_EQ(commit(2, 1, 0).base_offset, 2);
  EXPECT_EQ(commit(2, 1, 0).base_offset, 2);
}

TEST_F(Idempotence, ProducersAndPartitionsHaveTheirOwnSequences) {
  log_.apply(CreatePartitions{.topic = topic_, .count = 2});
  EXPECT_EQ(commit(1, 0, 0, 7).base_offset, 0);
  EXPECT_EQ(commit(1, 0, 0, 8).base_offset, 1);
  CommandResult other = log_.apply(ObjectBuilder(next_object_++).run(topic_, 1).batch(1, 7, 0, 9));
  EXPECT_EQ(other.batches[0].base_offset, 0);
  EXPECT_EQ(commit(1, 0, 1, 7).base_offset, 2);
}

TEST_F(Idempotence, ProducersExpireByTheTimeOfTheLog) {
  constexpr std::int64_t kDay = 86'400'000;
  commit(1, 0, 0, 7);
  log_.now += kDay - 1;
  commit(1, 0, 0, 8);
  log_.apply(ExpireProducers{.expiration_ms = kDay});
  EXPECT_EQ(commit(1, 0, 5, 7).error, KafkaError::kOutOfOrderSequenceNumber);
  log_.now += 1;
  log_.apply(ExpireProducers{.expiration_ms = kDay});
  EXPECT_EQ(commit(1, 0, 5, 7).error, KafkaError::kNone);
  EXPECT_EQ(commit(1, 0, 5, 8).error, KafkaError::kOutOfOrderSequenceNumber);
}

TEST_F(Idempotence, AProducerOutlivesItsBatches) {
  commit(3, 0, 0);
  TrimLogs trim;
  trim.trims.push_back({.topic = topic_, .log_start = -1});
  log_.apply(trim);
  EXPECT_EQ(log_.view(topic_).extents.size(), 0U);
  EXPECT_EQ(commit(3, 0, 0).base_offset, 0);
  EXPECT_EQ(commit(1, 0, 4).error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(commit(1, 0, 3).base_offset, 3);
}

TEST_F(Idempotence, BatchesWithoutProducerAreNeverCompared) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(log_.apply(ObjectBuilder(next_object_++).run(topic_).batch(2)).batches[0].base_offset,
              i * 2);
  }
}

}  // namespace
}  // namespace weir::metadata

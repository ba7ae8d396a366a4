// Commits, trims, objects and producer ids.
#include "metadata/state/test_log.h"

#include <gtest/gtest.h>

namespace weir::metadata {
namespace {

using kafka::KafkaError;

constexpr std::uint32_t kBatch = ObjectBuilder::kBatchBytes;

CommandResult trim(TestLog& log, const TopicId& topic, Offset log_start,
                   PartitionIndex partition = 0) {
  TrimLogs command;
  command.trims.push_back({.topic = topic, .partition = partition, .log_start = log_start});
  return log.apply(command);
}

TEST(CommitObjects, GiveOffsetsPerPartitionInOrder) {
  TestLog log;
  TopicId topic = log.create_topic("orders", 2);
  CommandResult result = log.apply(
      ObjectBuilder(4).run(topic, 1).batch(3).batch(2).run(topic, 0).batch(7).run(topic, 1).batch(
          1));
  ASSERT_EQ(result.batches.size(), 4U);
  EXPECT_EQ(result.batches[0], (BatchResult{.base_offset = 0, .append_time = -1, .log_start = 0}));
  EXPECT_EQ(result.batches[1].base_offset, 3);
  EXPECT_EQ(result.batches[2].base_offset, 0);
  EXPECT_EQ(result.batches[3].base_offset, 5);
  EXPECT_EQ(log.view(topic, 1).high_watermark, 6);
  EXPECT_EQ(log.view(topic, 0).high_watermark, 7);
}

TEST(CommitObjects, OneRunIsOneExtent) {
  TestLog log;
  TopicId topic = log.create_topic("orders", 2);
  log.apply(
      ObjectBuilder(4).run(topic, 0).batch(1).run(topic, 1).batch(3, 50).batch(2, 90).batch(1, 70));
  PartitionView view = log.view(topic, 1);
  ASSERT_EQ(view.extents.size(), 1U);
  EXPECT_EQ(view.extents[0], (Extent{.base_offset = 0,
                                     .object = {log.epoch(), 4},
                                     .max_timestamp = 90,
                                     .append_time = TestLog::kStart,
                                     .last_offset_delta = 5,
                                     .byte_offset = kBatch,
                                     .byte_length = 3 * kBatch,
                                     .object_size = 4 * kBatch}));
  EXPECT_EQ(view.live_bytes, 3 * kBatch);
}

TEST(CommitObjects, RejectedAndRepeatedBatchesSplitTheExtent) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  log.apply(ObjectBuilder(1).run(topic).batch(2, 7, 0, 0));
  // New, duplicate, new, gap, new.
  CommandResult result = log.apply(ObjectBuilder(2)
                                       .run(topic)
                                       .batch(1)
                                       .batch(2, 7, 0, 0)
                                       .batch(3, 7, 0, 2)
                                       .batch(1, 7, 0, 9)
                                       .batch(4));
  EXPECT_EQ(result.batches[0].base_offset, 2);
  EXPECT_EQ(result.batches[1].base_offset, 0);
  EXPECT_EQ(result.batches[2].base_offset, 3);
  EXPECT_EQ(result.batches[3].error, KafkaError::kOutOfOrderSequenceNumber);
  EXPECT_EQ(result.batches[4].base_offset, 6);
  PartitionView view = log.view(topic);
  ASSERT_EQ(view.extents.size(), 4U);
  EXPECT_EQ(view.extents[1].base_offset, 2);
  EXPECT_EQ(view.extents[1].byte_offset, 0U);
  EXPECT_EQ(view.extents[2].base_offset, 3);
  EXPECT_EQ(view.extents[2].byte_offset, 2 * kBatch);
  EXPECT_EQ(view.extents[3].base_offset, 6);
  EXPECT_EQ(view.extents[3].byte_offset, 4 * kBatch);
  EXPECT_EQ(view.extents[3].byte_length, kBatch);
  EXPECT_EQ(view.high_watermark, 10);
}

TEST(CommitObjects, UnknownPartitionsAreAnsweredAndOthersGoOn) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  CommandResult result = log.apply(ObjectBuilder(1)
                                       .run(topic_id("gone"))
                                       .batch(1)
                                       .batch(1)
                                       .run(topic, 5)
                                       .batch(1)
                                       .run(topic)
                                       .batch(2));
  ASSERT_EQ(result.batches.size(), 4U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(result.batches[static_cast<std::size_t>(i)],
              (BatchResult{.error = KafkaError::kUnknownTopicOrPartition}));
  }
  EXPECT_EQ(result.batches[3].base_offset, 0);
  EXPECT_EQ(log.view(topic).extents[0].byte_offset, 3 * kBatch);
}

TEST(CommitObjects, AnObjectIsCommittedOnce) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  log.apply(ObjectBuilder(1).run(topic).batch(1));
  CommandResult again = log.apply(ObjectBuilder(1).run(topic).batch(1));
  EXPECT_EQ(again.error, KafkaError::kInvalidRequest);
  EXPECT_TRUE(again.batches.empty());
  EXPECT_EQ(log.view(topic).high_watermark, 1);
  // Another broker's object with the same sequence is another object.
  EXPECT_EQ(log.append({ObjectBuilder({log.epoch(2), 1}).run(topic).batch(1)}, 2)
                .at(0)
                .batches.at(0)
                .base_offset,
            1);
}

TEST(CommitObjects, AnObjectOfAnotherEpochIsRefused) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  Command command = ObjectBuilder({log.epoch(2), 1}).run(topic).batch(1);
  EXPECT_EQ(log.apply(command).error, KafkaError::kInvalidRequest);
  EXPECT_EQ(log.append({command}, 2).at(0).batches.at(0).base_offset, 0);
}

TEST(CommitObjects, AnObjectThatDoesNotFitTogetherHasNoEffect) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  // As another implementation could have written it: encode_command() refuses it.
  CommitObject command = ObjectBuilder(1).run(topic).batch(1).command();
  command.object_size = 1;
  ByteWriter body;
  write(body, command);
  ByteWriter framed;
  framed.uvarint(CommitObject::kId);
  framed.uvarint(0);
  framed.uvarint(static_cast<std::uint32_t>(body.size()));
  framed.bytes(body.view());
  auto applied =
      log.state.apply({log.state.position() + 1, encode_record(log.header(), 1, framed.view())});
  ASSERT_TRUE(applied);
  EXPECT_EQ(applied->results.at(0).error, KafkaError::kInvalidRequest);
  EXPECT_TRUE(log.state.tables().objects.objects().empty());
}

// The broker that validated a batch decides: what is configured while the entry is applied, or at
// some broker, must not matter.
TEST(CommitObjects, TheBatchSaysWhetherItGetsTheAppendTime) {
  TestLog log;
  TopicId topic = log.create_topic("orders", 1, {{"message.timestamp.type", "LogAppendTime"}});
  EXPECT_EQ(log.apply(ObjectBuilder(1).run(topic).batch(1, 5)).batches[0].append_time,
            kNoTimestamp);
  log.apply(AlterConfigs{.name = "orders", .sets = {{"message.timestamp.type", "CreateTime"}}});
  log.now += 7;
  EXPECT_EQ(
      log.apply(ObjectBuilder(2).run(topic).batch(1, 5).log_append_time()).batches[0].append_time,
      TestLog::kStart + 7);
  PartitionView view = log.view(topic);
  EXPECT_FALSE(view.extents[0].log_append_time);
  EXPECT_EQ(view.extents[0].max_timestamp, 5);
  EXPECT_TRUE(view.extents[1].log_append_time);
  EXPECT_EQ(view.extents[1].max_timestamp, TestLog::kStart + 7);
}

TEST(CommitObjects, AnExtentHasTimestampsOfOneKind) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  log.now += 7;
  ObjectBuilder builder(1);
  builder.run(topic).batch(2, 5).batch(1, 6).batch(3, 9).log_append_time();
  builder.batch(1, 9).log_append_time().batch(1, 8);
  CommandResult result = log.apply(builder);
  EXPECT_EQ(result.batches[1].append_time, kNoTimestamp);
  EXPECT_EQ(result.batches[2].append_time, TestLog::kStart + 7);
  EXPECT_EQ(result.batches[4].base_offset, 7);
  PartitionView view = log.view(topic);
  ASSERT_EQ(view.extents.size(), 3U);
  EXPECT_EQ(view.extents[0].last_offset(), 2);
  EXPECT_EQ(view.extents[0].max_timestamp, 6);
  EXPECT_TRUE(view.extents[1].log_append_time);
  EXPECT_EQ(view.extents[1].byte_offset, 200U);
  EXPECT_EQ(view.extents[1].byte_length, 200U);
  EXPECT_EQ(view.extents[1].max_timestamp, TestLog::kStart + 7);
  EXPECT_FALSE(view.extents[2].log_append_time);
  EXPECT_EQ(view.extents[2].max_timestamp, 8);
}

TEST(CommitObjects, TellWhichPartitionsAdvanced) {
  TestLog log;
  TopicId topic = log.create_topic("orders", 3);
  log.append({ObjectBuilder(1).run(topic, 2).batch(1),
              ObjectBuilder(2).run(topic, 2).batch(1).run(topic, 0).batch(1)});
  ASSERT_EQ(log.last_changes.partitions.size(), 2U);
  EXPECT_EQ(log.last_changes.partitions[0].name, (TopicPartition{topic, 2}));
  EXPECT_EQ(log.last_changes.partitions[1].name, (TopicPartition{topic, 0}));
  EXPECT_FALSE(log.last_changes.image);
}

TEST(TrimLogs, MovesTheLogStartForwardOnly) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  for (int i = 0; i < 3; ++i) log.apply(ObjectBuilder(i).run(topic).batch(10));
  EXPECT_EQ(trim(log, topic, 15).items.at(0), (ItemResult{.value = 15}));
  PartitionView view = log.view(topic);
  EXPECT_EQ(view.log_start, 15);
  EXPECT_EQ(view.extents.size(), 2U);  // the one that holds offset 15 stays whole
  EXPECT_EQ(view.extents.front().base_offset, 10);
  EXPECT_EQ(view.live_bytes, 2 * kBatch);
  EXPECT_EQ(trim(log, topic, 3).items.at(0), (ItemResult{.value = 15}));
  EXPECT_EQ(trim(log, topic, 31).items.at(0).error, KafkaError::kOffsetOutOfRange);
  EXPECT_EQ(trim(log, topic, -2).items.at(0).error, KafkaError::kOffsetOutOfRange);
  EXPECT_EQ(log.view(topic).log_start, 15);
  EXPECT_EQ(log.apply(ObjectBuilder(9).run(topic).batch(1)).batches[0].log_start, 15);
  EXPECT_EQ(trim(log, topic, 20).items.at(0).value, 20);
  EXPECT_EQ(log.view(topic).extents.front().base_offset, 20);
}

TEST(TrimLogs, MinusOneIsTheHighWatermark) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  log.apply(ObjectBuilder(1).run(topic).batch(10));
  EXPECT_EQ(trim(log, topic, -1).items.at(0).value, 10);
  EXPECT_TRUE(log.view(topic).extents.empty());
  EXPECT_EQ(log.view(topic).high_watermark, 10);
  EXPECT_EQ(log.apply(ObjectBuilder(2).run(topic).batch(1)).batches[0].base_offset, 10);
  EXPECT_EQ(trim(log, topic_id("gone"), 0).items.at(0).error, KafkaError::kUnknownTopicOrPartition);
  EXPECT_EQ(trim(log, topic, 0, 1).items.at(0).error, KafkaError::kUnknownTopicOrPartition);
}

TEST(Objects, BecomeDeletableWithTheirLastExtent) {
  TestLog log;
  TopicId topic = log.create_topic("orders", 2);
  BrokerEpoch epoch = log.epoch();
  log.apply(ObjectBuilder(1).run(topic, 0).batch(1).run(topic, 1).batch(1));
  log.now += 10;
  trim(log, topic, -1, 0);
  const ObjectTable& objects = log.state.tables().objects;
  EXPECT_TRUE(objects.deletable(log.state.position(), 10).empty());
  log.now += 10;
  trim(log, topic, -1, 1);
  auto deletable = objects.deletable(log.state.position(), 10);
  ASSERT_EQ(deletable.size(), 1U);
  EXPECT_EQ(deletable[0].id, (ObjectId{epoch, 1}));
  EXPECT_EQ(deletable[0].since, log.state.position());
  EXPECT_EQ(deletable[0].size, 2 * kBatch);
  EXPECT_TRUE(objects.deletable(log.state.position() - 1, 10).empty());
}

TEST(Objects, WithoutALiveExtentAreDeletableAtOnce) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  log.apply(ObjectBuilder(1).run(topic).batch(1, 7, 0, 0));
  log.apply(ObjectBuilder(2).run(topic).batch(1, 7, 0, 0));  // a duplicate
  log.apply(ObjectBuilder(3).run(topic_id("gone")).batch(1));
  auto deletable = log.state.tables().objects.deletable(log.state.position(), 10);
  ASSERT_EQ(deletable.size(), 2U);
  EXPECT_EQ(deletable[0].id.sequence, 2);
  EXPECT_EQ(deletable[1].id.sequence, 3);
  EXPECT_EQ(log.state.tables().objects.deletable(log.state.position(), 1).size(), 1U);
}

TEST(Objects, AreForgottenOnlyWithoutExtents) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  BrokerEpoch epoch = log.epoch();
  log.apply(ObjectBuilder(1).run(topic).batch(1));
  ForgetObjects forget;
  forget.objects = {{epoch, 1}, {epoch, 77}};
  CommandResult result = log.apply(forget);
  EXPECT_EQ(result.items.at(0).error, KafkaError::kInvalidRequest);
  EXPECT_EQ(result.items.at(1).error, KafkaError::kNone);
  trim(log, topic, -1);
  EXPECT_EQ(log.apply(forget).items.at(0).error, KafkaError::kNone);
  EXPECT_TRUE(log.state.tables().objects.objects().empty());
  EXPECT_TRUE(log.state.tables().objects.deletable(log.state.position(), 10).empty());
}

TEST(ProducerIds, NeverRepeat) {
  TestLog log;
  EXPECT_EQ(log.apply(AllocateProducerIds{.count = 10}).value, 0);
  EXPECT_EQ(log.append({AllocateProducerIds{.count = 5}}, 2).at(0).value, 10);
  EXPECT_EQ(log.apply(AllocateProducerIds{.count = 1}).value, 15);
  EXPECT_EQ(log.apply(AllocateProducerIds{.count = 0}).error, KafkaError::kInvalidRequest);
  EXPECT_EQ(log.apply(AllocateProducerIds{.count = -5}).error, KafkaError::kInvalidRequest);
  EXPECT_EQ(log.apply(AllocateProducerIds{.count = 1}).value, 16);
}

}  // namespace
}  // namespace weir::metadata

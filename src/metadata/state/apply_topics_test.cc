// Topics and configurations.
#include "metadata/state/test_log.h"

#include <gtest/gtest.h>

namespace weir::metadata {
namespace {

using kafka::KafkaError;

NewTopic topic(const std::string& name, std::int32_t partitions = 1) {
  return {.name = name, .id = topic_id(name), .partitions = partitions};
}

TEST(CreateTopicsCommand, JudgesEachTopicAlone) {
  TestLog log;
  CreateTopics command;
  command.topics = {
      topic("a", 3), topic("a"), topic("b", 0), topic(""), topic(std::string(250, 'x')),
      topic("c")};
  command.topics[1].id = topic_id("other");
  CommandResult result = log.apply(command);
  ASSERT_EQ(result.items.size(), 6U);
  EXPECT_EQ(result.items[0].error, KafkaError::kNone);
  EXPECT_EQ(result.items[1].error, KafkaError::kTopicAlreadyExists);
  EXPECT_EQ(result.items[2].error, KafkaError::kInvalidPartitions);
  EXPECT_EQ(result.items[3].error, KafkaError::kInvalidTopicException);
  EXPECT_EQ(result.items[4].error, KafkaError::kInvalidTopicException);
  EXPECT_EQ(result.items[5].error, KafkaError::kNone);
  auto image = log.readers.image();
  EXPECT_EQ(image->topics_by_name.size(), 2U);
  ASSERT_NE(image->topic("a"), nullptr);
  EXPECT_EQ(image->topic("a")->partition_count(), 3);
  EXPECT_EQ(image->topic("a")->id, topic_id("a"));
  EXPECT_EQ(image->topic(topic_id("c"))->name, "c");
  EXPECT_EQ(image->topic("b"), nullptr);
}

TEST(CreateTopicsCommand, RefusesNamesThatMetricsCannotTellApart) {
  TestLog log;
  log.create_topic("a.b_c");
  CreateTopics command;
  command.topics = {topic("a_b_c"), topic("a.b.c"), topic("a_b.c"), topic("abc"), topic("a.b_c")};
  CommandResult result = log.apply(command);
  EXPECT_EQ(result.items[0].error, KafkaError::kInvalidTopicException);
  EXPECT_EQ(result.items[1].error, KafkaError::kInvalidTopicException);
  EXPECT_EQ(result.items[2].error, KafkaError::kInvalidTopicException);
  EXPECT_EQ(result.items[3].error, KafkaError::kNone);
  EXPECT_EQ(result.items[4].error, KafkaError::kTopicAlreadyExists);
}

TEST(CreateTopicsCommand, RefusesAnIdThatIsTaken) {
  TestLog log;
  log.create_topic("a");
  CreateTopics command;
  command.topics = {topic("b"), topic("c")};
  command.topics[0].id = topic_id("a");
  command.topics[1].id = Uuid{};
  CommandResult result = log.apply(command);
  EXPECT_EQ(result.items[0].error, KafkaError::kInvalidRequest);
  EXPECT_EQ(result.items[1].error, KafkaError::kInvalidRequest);
}

TEST(DeleteTopicsCommand, EndsTheTopicItsObjectsAndItsOffsets) {
  TestLog log;
  TopicId id = log.create_topic("a", 2);
  TopicId other = log.create_topic("b");
  log.apply(ObjectBuilder(1).run(id).batch(1).run(id, 1).batch(1));
  log.apply(ObjectBuilder(2).run(id).batch(1).run(other).batch(1));
  Position claim = log.apply(GroupClaim{.group = "g"}).value;
  OffsetCommit offsets{.group = "g", .claim = claim};
  offsets.entries = {{.topic = id, .partition = 0, .offset = 1},
                     {.topic = id, .partition = 1, .offset = 1},
                     {.topic = other, .partition = 0, .offset = 1}};
  log.apply(offsets);
  auto old = log.readers.image()->topic("a");

  DeleteTopics command;
  command.topics = {id, topic_id("gone"), id};
  CommandResult result = log.apply(command);
  EXPECT_EQ(result.items[0].error, KafkaError::kNone);
  EXPECT_EQ(result.items[1].error, KafkaError::kUnknownTopicId);
  EXPECT_EQ(result.items[2].error, KafkaError::kUnknownTopicId);

  auto image = log.readers.image();
  EXPECT_EQ(image->topic("a"), nullptr);
  EXPECT_EQ(image->topic(id), nullptr);
  EXPECT_TRUE(old->partition(0)->view().deleted);
  EXPECT_TRUE(old->partition(1)->view().deleted);
  EXPECT_EQ(old->partition(0)->view().high_watermark, 2);
  auto deletable = log.state.tables().objects.deletable(log.state.position(), 10);
  ASSERT_EQ(deletable.size(), 1U);
  EXPECT_EQ(deletable[0].id.sequence, 1);
  auto group = log.readers.group("g");
  EXPECT_EQ(group->offsets.size(), 1U);
  EXPECT_NE(group->offsets.find(TopicPartition{other, 0}), nullptr);
  // The name is free again; the new topic is another.
  CreateTopics again;
  again.topics = {topic("a")};
  again.topics[0].id = topic_id("second");
  EXPECT_EQ(log.apply(again).items[0].error, KafkaError::kNone);
  EXPECT_EQ(log.view(topic_id("second")).high_watermark, 0);
}

TEST(DeleteTopicsCommand, InTheRecordOfACommitTellsBoth) {
  TestLog log;
  TopicId id = log.create_topic("a");
  DeleteTopics command;
  command.topics = {id};
  auto results =
      log.append({ObjectBuilder(1).run(id).batch(1), command, ObjectBuilder(2).run(id).batch(1)});
  EXPECT_EQ(results[0].batches[0].base_offset, 0);
  EXPECT_EQ(results[2].batches[0].error, KafkaError::kUnknownTopicOrPartition);
  EXPECT_EQ(log.last_changes.partitions.size(), 1U);
}

TEST(CreatePartitionsCommand, OnlyAdds) {
  TestLog log;
  TopicId id = log.create_topic("a", 2);
  log.apply(ObjectBuilder(1).run(id, 1).batch(4));
  auto before = log.readers.image()->topic("a");
  EXPECT_EQ(log.apply(CreatePartitions{.topic = id, .count = 2}).error,
            KafkaError::kInvalidPartitions);
  EXPECT_EQ(log.apply(CreatePartitions{.topic = id, .count = 1}).error,
            KafkaError::kInvalidPartitions);
  EXPECT_EQ(log.apply(CreatePartitions{.topic = topic_id("gone"), .count = 5}).error,
            KafkaError::kUnknownTopicOrPartition);
  EXPECT_EQ(log.apply(CreatePartitions{.topic = id, .count = 5}).error, KafkaError::kNone);
  auto after = log.readers.image()->topic("a");
  EXPECT_EQ(before->partition_count(), 2);
  EXPECT_EQ(after->partition_count(), 5);
  EXPECT_EQ(after->partition(1)->view().high_watermark, 4);
  EXPECT_EQ(after->partition(1), before->partition(1));  // the same cell
  EXPECT_EQ(log.apply(ObjectBuilder(2).run(id, 4).batch(1)).batches[0].base_offset, 0);
  EXPECT_EQ(after->partition(5), nullptr);
  EXPECT_EQ(after->partition(-1), nullptr);
}

TEST(AlterConfigsCommand, SetsDeletesAndReplaces) {
  TestLog log;
  log.create_topic("a", 1, {{"retention.ms", "5"}, {"segment.ms", "6"}});
  log.apply(AlterConfigs{
      .name = "a", .sets = {{"cleanup.policy", "compact"}}, .deletes = {"retention.ms"}});
  EXPECT_EQ(log.readers.image()->topic("a")->configs,
            (ConfigMap{{"cleanup.policy", "compact"}, {"segment.ms", "6"}}));
  log.apply(AlterConfigs{.name = "a", .replace = true, .sets = {{"retention.ms", "7"}}});
  EXPECT_EQ(log.readers.image()->topic("a")->configs, (ConfigMap{{"retention.ms", "7"}}));
  EXPECT_EQ(log.apply(AlterConfigs{.name = "gone"}).error, KafkaError::kUnknownTopicOrPartition);
}

TEST(AlterConfigsCommand, KeepsOtherResourcesApart) {
  TestLog log;
  log.apply(AlterConfigs{.type = ConfigResourceType::kBroker, .name = "1", .sets = {{"a", "1"}}});
  log.apply(AlterConfigs{.type = ConfigResourceType::kBroker, .name = "", .sets = {{"a", "2"}}});
  log.apply(AlterConfigs{.type = ConfigResourceType::kGroup, .name = "1", .sets = {{"a", "3"}}});
  auto configs = log.readers.image()->configs;
  EXPECT_EQ(configs.size(), 3U);
  EXPECT_EQ((configs[{ConfigResourceType::kBroker, ""}]), (ConfigMap{{"a", "2"}}));
  log.apply(AlterConfigs{.type = ConfigResourceType::kBroker, .name = "1", .deletes = {"a"}});
  EXPECT_EQ(log.readers.image()->configs.size(), 2U);
}

TEST(Features, AreShown) {
  TestLog log;
  log.apply(SetFeatureLevel{.feature = "transaction.version", .level = 2});
  EXPECT_EQ(log.readers.image()->features.at("transaction.version"), 2);
}

}  // namespace
}  // namespace weir::metadata

#include "metadata/state/random_history.h"

#include <limits>

namespace weir::metadata {
namespace {

constexpr std::size_t kRemembered = 40;
constexpr TimestampMs kFar = 315'360'000'000;  // ten years
constexpr std::int32_t kMaxSequence = std::numeric_limits<std::int32_t>::max();

}  // namespace

void RandomHistory::move_time(TestLog& log) {
  log.now += static_cast<TimestampMs>(rng_.below(1000));
  if (one_in(10)) log.now -= 3000;
  if (one_in(30)) {
    // A clock is set wrong, or right again.
    log.now += is_far_ahead_ ? -kFar : kFar;
    is_far_ahead_ = !is_far_ahead_;
  }
}

std::vector<Command> RandomHistory::next(TestLog& log, BrokerId broker) {
  std::vector<Command> commands;
  std::uint64_t count = one_in(4) ? 1 + rng_.below(4) : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    switch (rng_.below(20)) {
      case 0:
      case 1:
        commands.push_back(any_topic_command(log));
        break;
      case 2:
      case 3:
        commands.push_back(any_group_command(log));
        break;
      case 4:
        commands.push_back(trim(log));
        break;
      case 5:
        commands.push_back(forget(log));
        break;
      case 6:
        commands.push_back(AllocateProducerIds{.count = below(5) - 1});
        break;
      case 7:
        commands.push_back(ExpireProducers{.expiration_ms = 20'000});
        break;
      case 8:
        commands.push_back(SetFeatureLevel{.feature = "f" + std::to_string(below(3)),
                                           .level = static_cast<std::int16_t>(below(5))});
        break;
      default:
        commands.push_back(commit(log, broker));
    }
  }
  return commands;
}

TopicId RandomHistory::some_topic(TestLog& log) {
  if (topics_.empty() || one_in(30)) return topic_id("never");
  // Mostly one that exists.
  for (int tries = 0; tries < 5; ++tries) {
    TopicId id = topics_[rng_.below(topics_.size())];
    if (log.readers.image()->topic(id) != nullptr) return id;
  }
  return topics_[rng_.below(topics_.size())];
}

void RandomHistory::add_batch(ObjectBuilder& builder, const TopicId& topic,
                              PartitionIndex partition) {
  std::int32_t records = 1 + below(5);
  if (one_in(3)) {
    builder.batch(records, one_in(20) ? kNoTimestamp : TestLog::kStart + below(100'000));
    if (one_in(4)) builder.log_append_time();
    return;
  }
  ProducerId id = below(5);
  auto& [epoch, sequence] = producers_[{TopicPartition{topic, partition}, id}];
  if (one_in(40)) sequence = kMaxSequence - below(6);
  if (one_in(15)) {
    ++epoch;
    sequence = one_in(4) ? 3 : 0;
  }
  std::int32_t skip = one_in(25) ? below(4) : 0;
  builder.batch(records, id,
                one_in(15) && epoch > 0 ? static_cast<ProducerEpoch>(epoch - 1) : epoch,
                advance_sequence(sequence, skip));
  if (one_in(4)) builder.log_append_time();
  sequence = advance_sequence(sequence, records + skip);
  sent_.push_back({topic, partition, builder.command().batches.back()});
  if (sent_.size() > kRemembered) sent_.erase(sent_.begin());
}

Command RandomHistory::commit(TestLog& log, BrokerId broker) {
  ObjectBuilder builder(
      ObjectId{log.epoch(one_in(50) ? 3 - broker : broker), one_in(50) ? 0 : next_object_++});
  std::uint64_t runs = 1 + rng_.below(4);
  for (std::uint64_t i = 0; i < runs; ++i) {
    if (!sent_.empty() && one_in(5)) {  // again, as a client that had no answer
      const Sent& again = sent_[rng_.below(sent_.size())];
      builder.run(again.topic, again.partition);
      builder.batch(again.batch.last_offset_delta + 1, again.batch.producer_id,
                    again.batch.producer_epoch, again.batch.base_sequence);
      continue;
    }
    TopicId topic = some_topic(log);
    PartitionIndex partition = below(4);
    builder.run(topic, partition);
    std::uint64_t batches = 1 + rng_.below(3);
    for (std::uint64_t b = 0; b < batches; ++b) add_batch(builder, topic, partition);
  }
  return builder;
}

NewTopic RandomHistory::new_topic() {
  const char* names[] = {"a", "a.b", "a_b", "b", "c.d", "c_d", "e", ""};
  NewTopic topic{
      .name = names[rng_.below(8)], .id = Uuid{77, next_topic_++}, .partitions = below(4)};
  if (one_in(3))
    topic.configs.push_back({"message.timestamp.type", one_in(2) ? "LogAppendTime" : "CreateTime"});
  topics_.push_back(topic.id);
  return topic;
}

Command RandomHistory::any_topic_command(TestLog& log) {
  switch (rng_.below(5)) {
    case 0:
    case 1: {
      CreateTopics command;
      for (int i = 0; i <= below(2); ++i) command.topics.push_back(new_topic());
      return command;
    }
    case 2:
      return CreatePartitions{.topic = some_topic(log), .count = below(6)};
    case 3: {
      AlterConfigs command{
          .type = one_in(3) ? ConfigResourceType::kBroker : ConfigResourceType::kTopic,
          .name = one_in(2) ? "" : "a",
          .replace = one_in(3)};
      const char* key = command.type == ConfigResourceType::kBroker ? "log.message.timestamp.type"
                                                                    : "message.timestamp.type";
      if (one_in(2)) {
        command.sets.push_back({key, one_in(2) ? "LogAppendTime" : "CreateTime"});
      } else {
        command.deletes.push_back(key);
      }
      return command;
    }
    default: {
      DeleteTopics command;
      if (one_in(2)) command.topics.push_back(some_topic(log));
      return command;
    }
  }
}

Command RandomHistory::any_group_command(TestLog& log) {
  std::string group = some_group();
  auto image = log.readers.group(group);
  Position claim = image == nullptr || one_in(15) ? 1 : image->claim;
  switch (rng_.below(6)) {
    case 0:
      return GroupClaim{.group = group};
    case 1: {
      GroupCommit command{
          .group = group, .claim = claim, .protocol_type = "consumer", .generation = below(9)};
      for (int i = 0; i < below(3); ++i) {
        GroupMember member;
        member.id = std::to_string(i);
        member.assignment.assign(2, static_cast<std::byte>(below(4)));
        command.members.push_back(member);
      }
      return command;
    }
    case 2: {
      OffsetDelete command{.group = group, .claim = claim};
      if (one_in(3)) command.if_generation = below(9);
      command.entries.push_back({.topic = some_topic(log), .partition = below(4)});
      if (one_in(3)) command.entries.back().if_committed_at = log.now;
      return command;
    }
    case 3:
      return GroupDelete{.group = group, .claim = claim, .if_without_offsets = one_in(2)};
    default: {
      OffsetCommit command{.group = group, .claim = claim};
      for (int i = 0; i <= below(4); ++i) {
        command.entries.push_back({.topic = some_topic(log),
                                   .partition = below(4),
                                   .offset = below(50),
                                   .commit_time = log.now});
      }
      return command;
    }
  }
}

Command RandomHistory::trim(TestLog& log) {
  TrimLogs command;
  for (int i = 0; i <= below(3); ++i) {
    command.trims.push_back(
        {.topic = some_topic(log), .partition = below(4), .log_start = below(60) - 2});
  }
  return command;
}

Command RandomHistory::forget(TestLog& log) {
  ForgetObjects command;
  for (const DeletableObject& object :
       log.state.tables().objects.deletable(log.state.position(), rng_.below(4))) {
    command.objects.push_back({object.id.epoch, object.id.sequence});
  }
  if (one_in(3)) command.objects.push_back({log.epoch(), next_object_ - 1});
  return command;
}

}  // namespace weir::metadata

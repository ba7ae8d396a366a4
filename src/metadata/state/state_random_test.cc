// Random histories: the state does what a plain model does; the same log gives the same state
// however it is read.
#include "metadata/state/random_history.h"
#include "metadata/state/snapshot_codec.h"
#include "metadata/state/state_model.h"

#include <gtest/gtest.h>

namespace weir::metadata {
namespace {

using kafka::KafkaError;

class Modelled {
 public:
  explicit Modelled(std::uint64_t seed) : history_(seed) {}

  void step() {
    history_.move_time(log_);
    BrokerId broker = history_.rng().below(4) == 0 ? 2 : 1;
    std::vector<Command> commands = history_.next(log_, broker);
    RecordHeader header = log_.header(broker);
    if (log_.now > time_ || log_.now < time_ - 60'000) time_ = log_.now;
    auto applied = log_.append_raw(header, commands);
    ASSERT_TRUE(applied) << applied.error().message;
    ASSERT_EQ(applied->results.size(), commands.size());
    for (std::size_t i = 0; i < commands.size(); ++i)
      check(commands[i], applied->results[i], header);
    // Sometimes the answer is lost and the record comes twice.
    if (history_.rng().below(10) == 0) {
      ASSERT_EQ(log_.append_raw(header, commands)->outcome, Applied::Outcome::kRepeated);
    }
  }

  void compare() {
    std::size_t count = 0;
    for (const auto& [name, expected] : model_.partitions) {
      PartitionView view = log_.view(name.topic, name.partition);
      ASSERT_EQ(view.log_start, expected.start);
      ASSERT_EQ(view.high_watermark, expected.end);
      ASSERT_EQ(view.extents.size(), expected.runs.size());
      ByteCount bytes = 0;
      for (std::size_t i = 0; i < expected.runs.size(); ++i) {
        const Extent& extent = view.extents[i];
        const StateModel::Run& run = expected.runs[i];
        ASSERT_EQ(extent.base_offset, run.base);
        ASSERT_EQ(extent.last_offset(), run.last);
        ASSERT_EQ(extent.object, run.object);
        ASSERT_EQ(extent.byte_offset, run.byte_offset);
        ASSERT_EQ(extent.byte_length, run.bytes);
        ASSERT_EQ(extent.max_timestamp, run.max_timestamp);
        ASSERT_EQ(extent.log_append_time, run.stamped);
        bytes += run.bytes;
      }
      ASSERT_EQ(view.live_bytes, bytes);
      ++count;
    }
    ASSERT_EQ(log_.state.tables().topics.partition_count(), count);
    std::map<ObjectId, std::uint32_t> references = model_.references();
    ASSERT_EQ(log_.state.tables().objects.objects().size(), references.size());
    log_.state.tables().objects.objects().for_each(
        [&](const ObjectId& id, const ObjectState& object) {
          ASSERT_EQ(object.live_extents, references.at(id));
        });
  }

  TestLog& log() { return log_; }
  // What batches were answered, and how often.
  const std::map<KafkaError, int>& answers() const { return answers_; }
  int duplicates() const { return duplicates_; }
  int deleted_topics() const { return deleted_topics_; }

 private:
  // Topics are followed by what the state answers; what data commands do is computed.
  void check(const Command& command, const CommandResult& result, const RecordHeader& header) {
    if (const auto* create = std::get_if<CreateTopics>(&command)) {
      for (std::size_t i = 0; i < create->topics.size(); ++i) {
        if (result.items[i].error != KafkaError::kNone) continue;
        const NewTopic& topic = create->topics[i];
        for (PartitionIndex p = 0; p < topic.partitions; ++p) model_.partitions[{topic.id, p}];
        topics_.insert(topic.id);
      }
    } else if (const auto* remove = std::get_if<DeleteTopics>(&command)) {
      for (const TopicId& id : remove->topics) {
        std::erase_if(model_.partitions, [&](const auto& item) { return item.first.topic == id; });
        deleted_topics_ += static_cast<int>(topics_.erase(id));
      }
    } else if (const auto* more = std::get_if<CreatePartitions>(&command)) {
      if (result.error != KafkaError::kNone) return;
      for (PartitionIndex p = 0; p < more->count; ++p) model_.partitions[{more->topic, p}];
    } else {
      check_data(command, result, header);
    }
  }

  void check_data(const Command& command, const CommandResult& result, const RecordHeader& header) {
    if (const auto* commit = std::get_if<CommitObject>(&command)) {
      if (commit->object.epoch != header.epoch || model_.objects.contains(commit->object)) {
        ASSERT_EQ(result.error, KafkaError::kInvalidRequest);
        return;
      }
      std::size_t known = model_.batches();
      ASSERT_EQ(result.batches, model_.commit(*commit, time_));
      for (const BatchResult& batch : result.batches) ++answers_[batch.error];
      duplicates_ += static_cast<int>(std::ranges::count(result.batches, KafkaError::kNone,
                                                         &BatchResult::error)) -
                     static_cast<int>(model_.batches() - known);
    } else if (const auto* trims = std::get_if<TrimLogs>(&command)) {
      for (std::size_t i = 0; i < trims->trims.size(); ++i) {
        ASSERT_EQ(result.items[i], model_.trim(trims->trims[i]));
      }
    } else if (const auto* expire = std::get_if<ExpireProducers>(&command)) {
      model_.expire(time_, expire->expiration_ms);
    } else if (const auto* forget = std::get_if<ForgetObjects>(&command)) {
      auto references = model_.references();
      for (std::size_t i = 0; i < forget->objects.size(); ++i) {
        ObjectId id{forget->objects[i].epoch, forget->objects[i].sequence};
        bool live = references.contains(id) && references[id] > 0;
        ASSERT_EQ(result.items[i].error, live ? KafkaError::kInvalidRequest : KafkaError::kNone);
        if (!live) model_.objects.erase(id);
      }
    }
  }

  TestLog log_;
  RandomHistory history_;
  StateModel model_;
  TimestampMs time_ = TestLog::kStart;
  std::set<TopicId> topics_;
  std::map<KafkaError, int> answers_;
  int duplicates_ = 0;
  int deleted_topics_ = 0;
};

State loaded(const State& from) {
  auto frozen = std::make_shared<const FrozenState>(freeze(from));
  std::vector<DecodedPart> parts;
  for (const SnapshotPart& part : plan_snapshot(frozen))
    parts.push_back(decode_part(part.encode()).value());
  // In another order.
  std::ranges::reverse(parts);
  auto state = assemble(std::move(parts));
  EXPECT_TRUE(state) << state.error().message;
  return std::move(*state);
}

class RandomHistories : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomHistories, DoWhatTheModelDoes) {
  Modelled modelled(GetParam());
  for (int i = 0; i < 800; ++i) {
    ASSERT_NO_FATAL_FAILURE(modelled.step()) << "step " << i;
    if (i % 50 == 0) ASSERT_NO_FATAL_FAILURE(modelled.compare()) << "step " << i;
  }
  ASSERT_NO_FATAL_FAILURE(modelled.compare());
}

TEST_P(RandomHistories, GiveTheSameStateHoweverTheyAreRead) {
  Modelled modelled(GetParam());
  std::vector<std::uint64_t> hashes;
  for (int i = 0; i < 400; ++i) modelled.step();
  const std::vector<LogEntry>& entries = modelled.log().entries;
  // From the beginning, entry by entry.
  State whole;
  for (const LogEntry& entry : entries) {
    ASSERT_TRUE(whole.apply(entry, -1));
    hashes.push_back(whole.hash());
  }
  EXPECT_EQ(whole.hash(), modelled.log().state.hash());
  // From snapshots on the way, each made of the state that was loaded from the one before.
  State hopping;
  Rng rng(GetParam());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (rng.below(40) == 0) hopping = loaded(hopping);
    ASSERT_TRUE(hopping.apply(entries[i], kEveryEpoch));
    ASSERT_EQ(hopping.hash(), hashes[i]) << "entry " << i + 1;
  }
  EXPECT_EQ(hopping.chain().hash(), whole.chain().hash());
}

TEST(RandomHistory, ContainsWhatMatters) {
  std::map<KafkaError, int> answers;
  int duplicates = 0;
  int deleted_topics = 0;
  for (std::uint64_t seed : {101, 102, 103}) {
    Modelled modelled(seed);
    for (int i = 0; i < 400; ++i) modelled.step();
    for (const auto& [error, count] : modelled.answers()) answers[error] += count;
    duplicates += modelled.duplicates();
    deleted_topics += modelled.deleted_topics();
  }
  EXPECT_GT(answers[KafkaError::kNone], 300);
  EXPECT_GT(answers[KafkaError::kOutOfOrderSequenceNumber], 50);
  EXPECT_GT(answers[KafkaError::kInvalidProducerEpoch], 5);
  EXPECT_GT(answers[KafkaError::kUnknownTopicOrPartition], 50);
  EXPECT_GT(duplicates, 20);
  EXPECT_GT(deleted_topics, 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHistories, testing::Range<std::uint64_t>(1, 6));

}  // namespace
}  // namespace weir::metadata

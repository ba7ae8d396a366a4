// For tests of the state: a log in a vector, a state that applies it, and writers that are
// registered brokers.
#pragma once
#include "metadata/state/published_state.h"
#include "metadata/state/state.h"

#include <map>
#include <string>
#include <vector>

namespace weir::metadata {

class TestLog {
 public:
  static constexpr TimestampMs kStart = 1'700'000'000'000;

  TestLog();

  // One record of broker 1 (or another, registered when new) with these commands; the results in
  // their order.
  std::vector<CommandResult> append(std::vector<Command> commands, BrokerId broker = 1);
  CommandResult apply(Command command, BrokerId broker = 1) {
    return append({std::move(command)}, broker).front();
  }
  // A record with this header but for time and known position, which are filled in.
  Result<Applied> append_raw(RecordHeader header, const std::vector<Command>& commands);
  // Takes the header of a broker's next record.
  RecordHeader header(BrokerId broker = 1);

  BrokerEpoch epoch(BrokerId broker = 1) { return writer(broker).epoch; }

  // A topic; its id is made from its name.
  TopicId create_topic(const std::string& name, std::int32_t partitions = 1,
                       std::vector<ConfigEntry> configs = {});
  PartitionView view(const TopicId& topic, PartitionIndex partition = 0) const;

  State state;
  PublishedState readers;
  Changes last_changes;
  std::vector<LogEntry> entries;
  TimestampMs now = kStart;

 private:
  // The next record's header of a broker, which is registered if it is new.
  RecordHeader& writer(BrokerId broker);

  std::map<BrokerId, RecordHeader> writers_;
};

// Builds a CommitObject: runs follow one another in the object.
class ObjectBuilder {
 public:
  // An object of the first broker of a TestLog or a MemoryCoordinator.
  explicit ObjectBuilder(std::int64_t sequence) : ObjectBuilder(ObjectId{2, sequence}) {}
  explicit ObjectBuilder(const ObjectId& id) { command_.object = id; }

  ObjectBuilder& run(const TopicId& topic, PartitionIndex partition = 0);
  // A batch of the last run, without a producer.
  ObjectBuilder& batch(std::int32_t records, TimestampMs max_timestamp = TestLog::kStart);
  ObjectBuilder& batch(std::int32_t records, ProducerId producer, ProducerEpoch epoch,
                       std::int32_t sequence);
  // The records of the last batch get the time of the commit.
  ObjectBuilder& log_append_time();
  operator Command() const { return command_; }
  [[nodiscard]] const CommitObject& command() const { return command_; }

  static constexpr std::uint32_t kBatchBytes = 100;

 private:
  CommitObject command_;
};

[[nodiscard]] TopicId topic_id(const std::string& name);

}  // namespace weir::metadata

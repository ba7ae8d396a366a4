#include "metadata/state/test_log.h"

#include <functional>

namespace weir::metadata {

TopicId topic_id(const std::string& name) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211ULL;
  return Uuid::from_random(hash, hash * 31);
}

TestLog::TestLog() {
  static_cast<void>(append_raw({.broker = 1}, {ClusterCreated{.cluster_id = Uuid{1, 2}}}));
  writer(1);
}

Result<Applied> TestLog::append_raw(RecordHeader header, const std::vector<Command>& commands) {
  header.time = now;
  header.known = state.position();
  header.known_hash = state.chain().hash();
  std::vector<std::byte> body;
  for (const Command& command : commands) {
    auto encoded = encode_command(command);
    if (!encoded) return std::unexpected(encoded.error());
    body.insert(body.end(), encoded->begin(), encoded->end());
  }
  entries.push_back({state.position() + 1, encode_record(header, commands.size(), body)});
  auto applied = state.apply(entries.back());
  last_changes = state.publish(readers);
  return applied;
}

RecordHeader& TestLog::writer(BrokerId broker) {
  auto found = writers_.find(broker);
  if (found != writers_.end()) return found->second;
  RegisterBroker command{.broker_id = broker,
                         .incarnation = Uuid{static_cast<std::uint64_t>(broker), entries.size()},
                         .endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}}};
  auto applied = append_raw({.broker = broker}, {command});
  return writers_[broker] = {.broker = broker, .epoch = applied->results.at(0).value};
}

RecordHeader TestLog::header(BrokerId broker) {
  RecordHeader next = writer(broker);
  ++writer(broker).sequence;
  return next;
}

std::vector<CommandResult> TestLog::append(std::vector<Command> commands, BrokerId broker) {
  return append_raw(header(broker), commands).value().results;
}

TopicId TestLog::create_topic(const std::string& name, std::int32_t partitions,
                              std::vector<ConfigEntry> configs) {
  TopicId id = topic_id(name);
  CreateTopics command;
  command.topics.push_back({.name = name,
                            .id = id,
                            .partitions = partitions,
                            .replication_factor = 1,
                            .configs = std::move(configs)});
  apply(command);
  return id;
}

PartitionView TestLog::view(const TopicId& topic, PartitionIndex partition) const {
  return readers.image()->topic(topic)->partition(partition)->view();
}

ObjectBuilder& ObjectBuilder::run(const TopicId& topic, PartitionIndex partition) {
  command_.runs.push_back(
      {.topic = topic, .partition = partition, .byte_offset = command_.object_size});
  return *this;
}

ObjectBuilder& ObjectBuilder::batch(std::int32_t records, TimestampMs max_timestamp) {
  ++command_.runs.back().batch_count;
  command_.object_size += kBatchBytes;
  command_.batches.push_back(
      {.length = kBatchBytes, .last_offset_delta = records - 1, .max_timestamp = max_timestamp});
  return *this;
}

ObjectBuilder& ObjectBuilder::batch(std::int32_t records, ProducerId producer, ProducerEpoch epoch,
                                    std::int32_t sequence) {
  batch(records);
  ObjectBatch& last = command_.batches.back();
  last.producer_id = producer;
  last.producer_epoch = epoch;
  last.base_sequence = sequence;
  return *this;
}

ObjectBuilder& ObjectBuilder::log_append_time() {
  command_.batches.back().log_append_time = true;
  return *this;
}

}  // namespace weir::metadata

#include "metadata/state/state_model.h"

#include <algorithm>

namespace weir::metadata {

using kafka::KafkaError;

BatchResult StateModel::judge(Partition& partition, const ObjectBatch& batch, TimestampMs now) {
  constexpr std::int64_t kSequences = std::int64_t{1} << 31;
  TimestampMs append_time = batch.log_append_time ? now : -1;
  if (batch.producer_id < 0)
    return {KafkaError::kNone, partition.end, append_time, partition.start};
  std::int64_t first = batch.base_sequence;
  std::int64_t last = (first + batch.last_offset_delta) % kSequences;
  auto known = partition.producers.find(batch.producer_id);
  if (known != partition.producers.end()) {
    Producer& producer = known->second;
    if (batch.producer_epoch < producer.epoch)
      return {KafkaError::kInvalidProducerEpoch, -1, -1, partition.start};
    if (batch.producer_epoch > producer.epoch) {
      if (first != 0) return {KafkaError::kOutOfOrderSequenceNumber, -1, -1, partition.start};
      producer.batches.clear();
    } else {
      for (const Batch& old : producer.batches) {
        if (old.first_sequence == first && old.last_sequence == last) {
          return {KafkaError::kNone, old.base, old.append_time, partition.start};
        }
      }
      if ((producer.batches.back().last_sequence + 1) % kSequences != first) {
        return {KafkaError::kOutOfOrderSequenceNumber, -1, -1, partition.start};
      }
    }
  }
  Producer& producer = partition.producers[batch.producer_id];
  producer.epoch = batch.producer_epoch;
  producer.last_time = now;
  // A repeated batch is answered with its greatest timestamp, as Kafka does.
  producer.batches.push_back(
      {first, last, partition.end, batch.log_append_time ? now : batch.max_timestamp});
  if (producer.batches.size() > 5) producer.batches.pop_front();
  return {KafkaError::kNone, partition.end, append_time, partition.start};
}

std::vector<BatchResult> StateModel::commit(const CommitObject& command, TimestampMs now) {
  std::vector<BatchResult> results;
  objects.insert(command.object);
  std::size_t next = 0;
  for (const ObjectRun& run : command.runs) {
    auto found = partitions.find({run.topic, run.partition});
    std::uint32_t at = run.byte_offset;
    bool open = false;
    for (std::uint32_t i = 0; i < run.batch_count; ++i, ++next) {
      const ObjectBatch& batch = command.batches[next];
      if (found == partitions.end()) {
        results.push_back({.error = KafkaError::kUnknownTopicOrPartition});
        continue;
      }
      Partition& partition = found->second;
      bool append = batch.log_append_time;
      BatchResult result = judge(partition, batch, now);
      results.push_back(result);
      bool accepted = result.error == KafkaError::kNone && result.base_offset == partition.end;
      if (accepted) {
        TimestampMs timestamp = append ? now : batch.max_timestamp;
        if (open && partition.runs.back().stamped == append) {
          Run& last = partition.runs.back();
          last.last += batch.last_offset_delta + 1;
          last.bytes += batch.length;
          last.max_timestamp = std::max(last.max_timestamp, timestamp);
        } else {
          partition.runs.push_back({partition.end, partition.end + batch.last_offset_delta,
                                    command.object, at, batch.length, timestamp, append});
        }
        partition.end += batch.last_offset_delta + 1;
        ++batches_;
      }
      open = accepted;
      at += batch.length;
    }
  }
  return results;
}

ItemResult StateModel::trim(const LogTrim& trim) {
  auto found = partitions.find({trim.topic, trim.partition});
  if (found == partitions.end()) return {.error = KafkaError::kUnknownTopicOrPartition};
  Partition& partition = found->second;
  Offset to = trim.log_start == -1 ? partition.end : trim.log_start;
  if (to < 0 || to > partition.end) return {.error = KafkaError::kOffsetOutOfRange};
  partition.start = std::max(partition.start, to);
  std::erase_if(partition.runs, [&](const Run& run) { return run.last < partition.start; });
  return {.value = partition.start};
}

void StateModel::expire(TimestampMs now, std::int64_t expiration) {
  for (auto& [name, partition] : partitions) {
    std::erase_if(partition.producers,
                  [&](const auto& item) { return now - item.second.last_time >= expiration; });
  }
}

std::map<ObjectId, std::uint32_t> StateModel::references() const {
  std::map<ObjectId, std::uint32_t> counts;
  for (const ObjectId& id : objects) counts[id] = 0;
  for (const auto& [name, partition] : partitions) {
    for (const Run& run : partition.runs) ++counts[run.object];
  }
  return counts;
}

}  // namespace weir::metadata

// Commits of objects, trims, and the life of objects and producers.
#include "base/planted.h"
#include "metadata/state/apply.h"

#include <limits>

namespace weir::metadata {

using kafka::KafkaError;

namespace {

void mark(ApplyContext& context, const TopicPartition& name, PartitionState& partition) {
  partition.touch(context.position);
  if (partition.mark_dirty()) context.changes.partitions.push_back({name, &partition});
}

// Gives the batches of one CommitObject their offsets.
class Commit {
 public:
  Commit(Tables& tables, ApplyContext& context, const CommitObject& command)
      : tables_(tables), context_(context), command_(command) {}

  CommandResult run() {
    if (context_.want_results) result_.batches.reserve(command_.batches.size());
    const ObjectBatch* batches = command_.batches.data();
    for (const ObjectRun& run : command_.runs) {
      commit_run(run, {batches, run.batch_count});
      batches += run.batch_count;
    }
    tables_.objects.add(command_.object, command_.object_size, extents_, context_.position);
    return std::move(result_);
  }

 private:
  void commit_run(const ObjectRun& run, std::span<const ObjectBatch> batches) {
    if (topic_ == nullptr || run.topic != topic_->image->id)
      topic_ = tables_.topics.find(run.topic);
    PartitionState* partition = topic_ == nullptr ? nullptr : topic_->partition(run.partition);
    if (partition == nullptr) {
      for (std::size_t i = 0; i < batches.size(); ++i)
        answer({.error = KafkaError::kUnknownTopicOrPartition});
      return;
    }
    byte_offset_ = run.byte_offset;
    for (const ObjectBatch& batch : batches) {
      commit_batch(*partition, batch);
      byte_offset_ += batch.length;
    }
    close_extent(*partition);
    mark(context_, {run.topic, run.partition}, *partition);
  }

  void commit_batch(PartitionState& partition, const ObjectBatch& batch) {
    Offset base = open_ ? extent_.last_offset() + 1 : partition.high_watermark();
    BatchResult result{.base_offset = base,
                       .append_time = batch.log_append_time ? context_.now : kNoTimestamp,
                       .log_start = partition.log_start()};
    if (batch.producer_id != kNoProducerId) {
      // A duplicate is answered with the greatest timestamp of the batch, as Kafka does, also where
      // the first answer had none.
      SequenceCheck check = partition.sequence(batch, base, stamp_of(batch), context_.now);
      if (check.error != KafkaError::kNone) {
        close_extent(partition);
        answer({.error = check.error, .log_start = partition.log_start()});
        return;
      }
      if (check.duplicate != nullptr) {
        close_extent(partition);
        result.base_offset = check.duplicate->base_offset;
        result.append_time = check.duplicate->append_time;
        answer(result);
        return;
      }
    }
    extend(partition, batch, base);
    answer(result);
  }

  void extend(PartitionState& partition, const ObjectBatch& batch, Offset base) {
    TimestampMs timestamp = stamp_of(batch);
    auto records = static_cast<std::uint32_t>(batch.last_offset_delta) + 1;
    // The length of an extent has 32 bits; all its records have timestamps of one kind.
    bool fits = extent_.log_append_time == batch.log_append_time &&
                extent_.last_offset_delta <= std::numeric_limits<std::uint32_t>::max() - records;
    if (open_ && !fits) close_extent(partition);
    if (open_) {
      extent_.last_offset_delta += records;
      extent_.byte_length += batch.length;
      extent_.max_timestamp = std::max(extent_.max_timestamp, timestamp);
      return;
    }
    open_ = true;
    extent_ = {.base_offset = base,
               .object = command_.object,
               .max_timestamp = timestamp,
               .append_time = context_.now,
               .last_offset_delta = records - 1,
               .byte_offset = byte_offset_,
               .byte_length = batch.length,
               .object_size = command_.object_size,
               .log_append_time = batch.log_append_time};
  }

  [[nodiscard]] TimestampMs stamp_of(const ObjectBatch& batch) const {
    return batch.log_append_time ? context_.now : batch.max_timestamp;
  }

  void close_extent(PartitionState& partition) {
    if (!open_) return;
    open_ = false;
    partition.append(extent_);
    ++extents_;
  }

  void answer(const BatchResult& result) {
    if (context_.want_results) result_.batches.push_back(result);
  }

  Tables& tables_;
  ApplyContext& context_;
  const CommitObject& command_;
  TopicState* topic_ = nullptr;
  std::uint32_t byte_offset_ = 0;
  bool open_ = false;
  Extent extent_;
  std::uint32_t extents_ = 0;
  CommandResult result_;
};

}  // namespace

CommandResult apply(Tables& tables, ApplyContext& context, const CommitObject& command) {
  bool own = command.object.epoch == context.epoch;
  if (!own || !check(command) || tables.objects.objects().find(command.object) != nullptr) {
    return {.error = KafkaError::kInvalidRequest};
  }
  return Commit(tables, context, command).run();
}

CommandResult apply(Tables& tables, ApplyContext&, const ForgetObjects& command) {
  CommandResult result;
  for (const ForgottenObject& object : command.objects) {
    bool forgotten = tables.objects.forget({object.epoch, object.sequence});
    result.items.push_back({.error = forgotten ? KafkaError::kNone : KafkaError::kInvalidRequest});
  }
  return result;
}

CommandResult apply(Tables& tables, ApplyContext& context, const TrimLogs& command) {
  CommandResult result;
  for (const LogTrim& trim : command.trims) {
    TopicState* topic = tables.topics.find(trim.topic);
    PartitionState* partition = topic == nullptr ? nullptr : topic->partition(trim.partition);
    if (partition == nullptr) {
      result.items.push_back({.error = KafkaError::kUnknownTopicOrPartition});
      continue;
    }
    Offset log_start = trim.log_start == -1 ? partition->high_watermark() : trim.log_start;
    if (log_start < 0 || log_start > partition->high_watermark()) {
      result.items.push_back({.error = KafkaError::kOffsetOutOfRange});
      continue;
    }
    Offset before = partition->log_start();
    partition->trim(log_start, tables.objects, context.position);
    if (partition->log_start() != before) mark(context, {trim.topic, trim.partition}, *partition);
    result.items.push_back({.value = partition->log_start()});
  }
  return result;
}

CommandResult apply(Tables& tables, ApplyContext&, const AllocateProducerIds& command) {
  ProducerId first = tables.next_producer_id;
  if (command.count <= 0 || first > std::numeric_limits<ProducerId>::max() - command.count) {
    return {.error = KafkaError::kInvalidRequest};
  }
  if (!planted(Bug::kProducerIdGivenTwice)) tables.next_producer_id += command.count;
  return {.value = first};
}

CommandResult apply(Tables& tables, ApplyContext& context, const ExpireProducers& command) {
  if (command.expiration_ms < 0) return {.error = KafkaError::kInvalidRequest};
  // Kafka's rule: a state that is exactly as old as the limit is expired.
  TimestampMs last_time_until = context.now - command.expiration_ms;
  for (auto& [id, topic] : tables.topics.topics()) {
    for (PartitionState& partition : topic.partitions) {
      if (partition.expire_producers(last_time_until)) partition.touch(context.position);
    }
  }
  return {};
}

}  // namespace weir::metadata

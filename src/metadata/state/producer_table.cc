#include "metadata/state/producer_table.h"

#include "base/planted.h"

#include <algorithm>
#include <limits>

namespace weir::metadata {

using kafka::KafkaError;

std::int32_t advance_sequence(std::int32_t sequence, std::int32_t delta) {
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  if (sequence <= kMax - delta) return sequence + delta;
  return delta - (kMax - sequence) - 1;
}

SequenceCheck check_sequence(const ProducerState* known, const ObjectBatch& batch) {
  // A producer that was never here, or whose state expired, may start anywhere.
  if (known == nullptr) return {};
  if (batch.producer_epoch < known->epoch) return {KafkaError::kInvalidProducerEpoch, nullptr};
  if (batch.producer_epoch > known->epoch) {
    return {batch.base_sequence == 0 ? KafkaError::kNone : KafkaError::kOutOfOrderSequenceNumber,
            nullptr};
  }
  std::int32_t last = advance_sequence(batch.base_sequence, batch.last_offset_delta);
  for (std::size_t i = 0; i < known->count; ++i) {
    const ProducerBatch& old = known->batches[i];
    if (old.first_sequence == batch.base_sequence && old.last_sequence == last)
      return {KafkaError::kNone, planted(Bug::kBatchAppliedTwice) ? nullptr : &old};
  }
  bool next =
      known->count == 0 || planted(Bug::kSequenceUnchecked) ||
      batch.base_sequence == advance_sequence(known->batches[known->count - 1].last_sequence, 1);
  return {next ? KafkaError::kNone : KafkaError::kOutOfOrderSequenceNumber, nullptr};
}

void remember_batch(ProducerState& producer, const ObjectBatch& batch, Offset base_offset,
                    TimestampMs append_time, TimestampMs now) {
  if (producer.epoch != batch.producer_epoch) {
    producer = ProducerState{};
    producer.epoch = batch.producer_epoch;
  }
  if (producer.count == ProducerState::kBatches) {
    std::ranges::move(producer.batches.begin() + 1, producer.batches.end(),
                      producer.batches.begin());
    --producer.count;
  }
  producer.batches[producer.count++] = {
      batch.base_sequence, advance_sequence(batch.base_sequence, batch.last_offset_delta),
      base_offset, append_time};
  producer.last_time = now;
}

}  // namespace weir::metadata

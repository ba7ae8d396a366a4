// What a partition remembers of its idempotent producers (KIP-98), and the rules of Kafka for their
// sequence numbers. The coordinator's thread alone uses a table; copies for a snapshot cost one
// reference count.
#pragma once
#include "base/ids.h"
#include "base/units.h"
#include "kafka/protocol/errors.h"
#include "metadata/state/commands.h"
#include "metadata/state/cow_map.h"

#include <array>
#include <cstdint>

namespace weir::metadata {

struct ProducerBatch {
  std::int32_t first_sequence = 0;
  std::int32_t last_sequence = 0;
  Offset base_offset = 0;
  TimestampMs append_time =
      kNoTimestamp;  // the append time, or the greatest timestamp where records keep their own
  bool operator==(const ProducerBatch&) const = default;
};

struct ProducerState {
  static constexpr std::size_t kBatches = 5;  // what clients may have in flight, and so may repeat

  TimestampMs last_time = 0;  // of the last append
  ProducerEpoch epoch = kNoProducerEpoch;
  std::uint16_t count = 0;
  std::uint32_t unused = 0;                     // no padding: the bytes are hashed
  std::array<ProducerBatch, kBatches> batches;  // the oldest first; zero beyond `count`
  bool operator==(const ProducerState&) const = default;
};
static_assert(std::has_unique_object_representations_v<ProducerState>);

using ProducerTable = CowMap<ProducerId, ProducerState, 32>;

// The sequence number `delta` after `sequence`; after 2^31-1 comes 0.
[[nodiscard]] std::int32_t advance_sequence(std::int32_t sequence, std::int32_t delta);

struct SequenceCheck {
  kafka::KafkaError error = kafka::KafkaError::kNone;
  // The batch that `batch` repeats; null when it is new.
  const ProducerBatch* duplicate = nullptr;
};

// Whether `batch` is next for its producer; `known` is null for a producer the partition does not
// know.
[[nodiscard]] SequenceCheck check_sequence(const ProducerState* known, const ObjectBatch& batch);

// Remembers an accepted batch.
void remember_batch(ProducerState& producer, const ObjectBatch& batch, Offset base_offset,
                    TimestampMs append_time, TimestampMs now);

}  // namespace weir::metadata

// What a broker checks before it takes a batch from a producer, in Kafka's order and with Kafka's
// codes, and what it changes in it: compression.type, maxTimestamp, offsets that are not 0, 1, 2, …
// A batch that needs no change is handed on as the same slice, without a copy. A compressed batch
// is decompressed once, in a stream. Pure; any thread.
//
// Where Kafka takes what some client cannot read (bytes after a compressed frame, LZ4 blocks that
// depend on each other, repeated offsets), Weir rejects or rewrites it: one such batch would stop
// every consumer of its partition.
#pragma once
#include "base/bytes.h"
#include "base/ids.h"
#include "base/units.h"
#include "kafka/protocol/errors.h"
#include "kafka/records/compression.h"

#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace weir::kafka {

// The configuration of the topic, as far as it concerns a batch. The defaults are Kafka's.
struct ValidationRules {
  std::size_t max_message_bytes = 1'048'588;  // max.message.bytes
  std::size_t segment_bytes = 1_GiB;          // segment.bytes
  bool compacted = false;                     // cleanup.policy has "compact"
  bool log_append_time = false;               // message.timestamp.type
  TimestampMs timestamp_before_max_ms = std::numeric_limits<TimestampMs>::max();
  TimestampMs timestamp_after_max_ms = 3'600'000;
  // compression.type with its level; nothing for "producer", which keeps what the client chose.
  std::optional<Compression> compression;
  // max.decompressed.message.bytes: the length of one record of a compressed batch.
  std::int32_t max_decompressed_record_bytes = 2'147'483'639;
  // The limit for all records of a compressed batch together, against decompression bombs.
  ByteCount max_decompressed_batch_bytes = 256_MiB;
  // The same for a batch whose offsets are set anew: its records are in memory all at once.
  ByteCount max_renumbered_batch_bytes = 32_MiB;
  // The version of the Produce request.
  std::int16_t produce_version = 13;
};

struct RecordError {
  std::int32_t batch_index = 0;  // of the record in its batch
  std::string message;
};

struct BatchRejection {
  KafkaError error = KafkaError::kInvalidRecord;
  std::string message;
  // At most kMaxRecordErrors: one request must not make an answer of any size.
  std::vector<RecordError> record_errors;
  // The bytes are not one batch of this format, so nothing of them could be looked at.
  bool is_no_batch = false;
};
constexpr std::size_t kMaxRecordErrors = 1000;

struct AcceptedBatch {
  // The batch to store: offsets from 0, its CRC right.
  Slice batch;
  // False: `batch` is a part of the slice that was given.
  bool rewritten = false;
  std::int32_t record_count = 0;
  // The greatest timestamp of a record; on a topic with LogAppendTime the caller stamps another
  // (see patching.h).
  TimestampMs max_timestamp = kNoTimestamp;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  std::int32_t base_sequence = -1;
  std::int32_t last_sequence = -1;
  bool transactional = false;  // whether the producer may do that is for the caller to say
};

using BatchVerdict = std::expected<AcceptedBatch, BatchRejection>;

// `records` is the records field of one partition of a Produce request. `now_ms`: the wall clock,
// for the timestamp window.
[[nodiscard]] BatchVerdict validate_batch(const Slice& records, const ValidationRules& rules,
                                          TimestampMs now_ms);

}  // namespace weir::kafka

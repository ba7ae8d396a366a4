// The command that gives the batches of an object their offsets, and its encoding: about twenty
// bytes for a run of one batch (docs/formats/metadata-log.md). Plain values.
#pragma once
#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/units.h"
#include "metadata/state/extent.h"

#include <cstdint>
#include <vector>

namespace weir::kafka {
class JsonWriter;
}

namespace weir::metadata {

// A batch as the state needs it. The producer's fields are -1 for batches without idempotence.
struct ObjectBatch {
  std::uint32_t length = 0;            // bytes in the object
  std::int32_t last_offset_delta = 0;  // records - 1
  TimestampMs max_timestamp = kNoTimestamp;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  std::int32_t base_sequence = -1;
  // Its records get the time of the commit: what the broker that validated it found configured.
  bool log_append_time = false;
  bool operator==(const ObjectBatch&) const = default;
};

// Batches of one partition that lie one after the other in the object.
struct ObjectRun {
  TopicId topic;
  PartitionIndex partition = 0;
  std::uint32_t byte_offset = 0;  // of the first batch in the object
  std::uint32_t batch_count = 0;  // at least 1: the next ones of CommitObject::batches
  bool operator==(const ObjectRun&) const = default;
};

// The object must be durable, and be of the submitting broker's epoch: uploads of an earlier epoch
// cannot be committed. result.batches has one answer per batch, in their order. INVALID_REQUEST:
// the object is of another epoch or in the log already, or check() fails. Runs of one topic should
// stand together, in order of their place in the object.
struct CommitObject {
  static constexpr std::int16_t kId = 6;
  static constexpr std::int16_t kMaxVersion = 0;

  ObjectId object;
  std::uint32_t object_size = 0;
  std::vector<ObjectRun> runs;
  std::vector<ObjectBatch> batches;
  bool operator==(const CommitObject&) const = default;
};

// kInvalid, naming the first mistake, unless the parts fit together and every number is in its
// range.
[[nodiscard]] Status check(const CommitObject& command);

// The command must pass check().
void write(ByteWriter& out, const CommitObject& command);
// Up to the end of `in`; nothing allocated is larger than a small multiple of the input. kCorrupt
// for other bytes.
[[nodiscard]] Result<CommitObject> read_commit_object(ByteReader& in);
void write_json(kafka::JsonWriter& out, const CommitObject& command);

}  // namespace weir::metadata

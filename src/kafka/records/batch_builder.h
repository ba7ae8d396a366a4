// Builds record batches: for tests and tools, for batches that are rewritten, and for batches that
// Weir makes itself. Any thread, one at a time.
#pragma once
#include "base/byte_writer.h"
#include "base/error.h"
#include "kafka/records/compression.h"
#include "kafka/records/record.h"
#include "kafka/records/record_batch.h"

#include <optional>
#include <vector>

namespace weir::kafka {

// The header of a batch as values, without length and CRC, which follow from the rest.
struct BatchHeader {
  Offset base_offset = 0;
  LeaderEpoch leader_epoch = -1;
  std::uint16_t attributes = 0;
  std::int32_t last_offset_delta = -1;
  TimestampMs base_timestamp = kNoTimestamp;
  TimestampMs max_timestamp = kNoTimestamp;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  std::int32_t base_sequence = -1;
  std::int32_t records_count = 0;

  [[nodiscard]] static BatchHeader of(const RecordBatchView& batch);
  void set_codec(Codec codec);
};

// The batch of a header and what goes into its records part. `batch` holds kBatchHeaderSize bytes,
// which are overwritten, and the records after them.
[[nodiscard]] Slice seal_batch(std::vector<std::byte> batch, const BatchHeader& header);

struct BatchOptions {
  Compression compression;
  Offset base_offset = 0;
  LeaderEpoch leader_epoch = -1;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  std::int32_t base_sequence = -1;
  bool transactional = false;
  bool control = false;
  // Set: the batch is stamped with the time of its append.
  std::optional<TimestampMs> log_append_time;
};

class RecordBatchBuilder {
 public:
  explicit RecordBatchBuilder(BatchOptions options) : options_(options) {}

  // The next record; the first one's timestamp becomes the base timestamp.
  void append(TimestampMs timestamp, std::optional<Bytes> key, std::optional<Bytes> value,
              const std::vector<RecordHeader>& headers = {});

  [[nodiscard]] std::int32_t count() const { return header_.records_count; }
  // The batch of what was appended; the builder is empty after it. kInternal when the codec fails.
  Result<Slice> build();

 private:
  BatchOptions options_;
  BatchHeader header_;
  ByteWriter records_;
};

}  // namespace weir::kafka

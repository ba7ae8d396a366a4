#include "kafka/records/batch_builder.h"

#include "base/crc32c.h"

#include <algorithm>
#include <limits>

namespace weir::kafka {

BatchHeader BatchHeader::of(const RecordBatchView& batch) {
  return {.base_offset = batch.base_offset(),
          .leader_epoch = batch.leader_epoch(),
          .attributes = batch.attributes(),
          .last_offset_delta = batch.last_offset_delta(),
          .base_timestamp = batch.base_timestamp(),
          .max_timestamp = batch.max_timestamp(),
          .producer_id = batch.producer_id(),
          .producer_epoch = batch.producer_epoch(),
          .base_sequence = batch.base_sequence(),
          .records_count = batch.records_count()};
}

void BatchHeader::set_codec(Codec codec) {
  attributes =
      static_cast<std::uint16_t>((attributes & ~kCodecMask) | static_cast<std::uint16_t>(codec));
}

Slice seal_batch(std::vector<std::byte> batch, const BatchHeader& header) {
  using namespace batch_layout;
  std::byte* at = batch.data();
  store_big_endian(at + kBaseOffset, header.base_offset);
  store_big_endian(at + kBatchLength, static_cast<std::int32_t>(batch.size() - kLengthEnd));
  store_big_endian(at + kLeaderEpoch, header.leader_epoch);
  store_big_endian(at + kMagic, kBatchMagic);
  store_big_endian(at + kAttributes, header.attributes);
  store_big_endian(at + kLastOffsetDelta, header.last_offset_delta);
  store_big_endian(at + kBaseTimestamp, header.base_timestamp);
  store_big_endian(at + kMaxTimestamp, header.max_timestamp);
  store_big_endian(at + kProducerId, header.producer_id);
  store_big_endian(at + kProducerEpoch, header.producer_epoch);
  store_big_endian(at + kBaseSequence, header.base_sequence);
  store_big_endian(at + kRecordsCount, header.records_count);
  store_big_endian(at + kCrc, RecordBatchView(batch).computed_crc());
  return Slice::of(std::move(batch));
}

void RecordBatchBuilder::append(TimestampMs timestamp, std::optional<Bytes> key,
                                std::optional<Bytes> value,
                                const std::vector<RecordHeader>& headers) {
  if (count() == 0) header_.base_timestamp = header_.max_timestamp = timestamp;
  header_.max_timestamp = std::max(header_.max_timestamp, timestamp);
  ByteWriter encoded;
  for (const RecordHeader& header : headers) {
    encoded.varint(static_cast<std::int32_t>(header.key.size()));
    encoded.text(header.key);
    encoded.varint(header.value ? static_cast<std::int32_t>(header.value->size()) : -1);
    encoded.bytes(header.value.value_or(Bytes{}));
  }
  RecordView record;
  record.timestamp_delta = timestamp - header_.base_timestamp;
  record.offset_delta = count();
  record.key = key;
  record.value = value;
  record.headers = RecordHeaders(encoded.view(), static_cast<std::int32_t>(headers.size()));
  write_record(records_, record);
  ++header_.records_count;
}

Result<Slice> RecordBatchBuilder::build() {
  BatchHeader header = std::exchange(header_, {});
  ByteWriter records = std::exchange(records_, {});
  header.base_offset = options_.base_offset;
  header.leader_epoch = options_.leader_epoch;
  header.last_offset_delta = header.records_count - 1;
  header.producer_id = options_.producer_id;
  header.producer_epoch = options_.producer_epoch;
  header.base_sequence = options_.base_sequence;
  header.set_codec(options_.compression.codec);
  if (options_.transactional) header.attributes |= kTransactionalBit;
  if (options_.control) header.attributes |= kControlBit;
  if (options_.log_append_time) {
    header.attributes |= kLogAppendTimeBit;
    header.max_timestamp = *options_.log_append_time;
  }
  ByteWriter batch;
  batch.bytes(std::array<std::byte, kBatchHeaderSize>{});
  constexpr std::size_t kMaxSize = std::numeric_limits<std::int32_t>::max();
  std::unique_ptr<Compressor> compressor = make_compressor(options_.compression, batch, kMaxSize);
  WEIR_CHECK(compressor->write(records.view()));
  WEIR_CHECK(compressor->finish());
  return seal_batch(batch.release(), header);
}

}  // namespace weir::kafka

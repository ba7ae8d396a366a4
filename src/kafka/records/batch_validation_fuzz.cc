// Validates any bytes as the records of a Produce request. The four bytes of the CRC choose the
// topic's rules; then the CRC is set right, so that the checks behind it are reached. What is
// accepted must be readable, dense and stable.
#include "base/fuzz.h"
#include "kafka/records/record.h"
#include "kafka/records/validation.h"

#include <cstdint>

namespace weir::kafka {
namespace {

constexpr ByteCount kLimit = 1_MiB;
constexpr TimestampMs kNow = 1'700'000'000'000;

using fuzz::require;

ValidationRules rules_from(std::uint32_t bits) {
  ValidationRules rules;
  rules.compacted = (bits & 1) != 0;
  rules.log_append_time = (bits & 2) != 0;
  rules.max_decompressed_batch_bytes = kLimit;
  if ((bits & 4) != 0) rules.timestamp_after_max_ms = INT64_MAX;
  if ((bits & 8) != 0) {
    rules.compression = Compression{static_cast<Codec>((bits >> 4) % kCodecCount), {}};
  }
  if ((bits & 0x80) != 0) rules.max_message_bytes = 1000;
  return rules;
}

void check_accepted(const AcceptedBatch& accepted, const ValidationRules& rules) {
  RecordBatchView batch(accepted.batch.bytes());
  require(batch.crc_matches() && batch.base_offset() == 0);
  require(batch.size() <= rules.max_message_bytes);
  require(!rules.compression || batch.codec() == rules.compression->codec);
  auto records = decompress(batch.codec(), accepted.batch.sub(kBatchHeaderSize), kLimit);
  require(records.has_value());
  RecordReader reader(records->bytes());
  std::int32_t count = 0;
  TimestampMs max_timestamp = kNoTimestamp;
  while (auto record = reader.next()) {
    require(record->offset_delta == count++);
    require(!rules.compacted || record->key);
    max_timestamp =
        std::max(max_timestamp, record_timestamp(batch.base_timestamp(), record->timestamp_delta));
  }
  require(reader.status().has_value() && count == accepted.record_count);
  require(count == batch.records_count() && count == batch.last_offset_delta() + 1);
  require(max_timestamp == accepted.max_timestamp);
  require(rules.log_append_time || max_timestamp == batch.max_timestamp());
  BatchVerdict again = validate_batch(accepted.batch, rules, kNow);
  require(again && !again->rewritten);
}

void run(const Slice& records, const ValidationRules& rules) {
  BatchVerdict verdict = validate_batch(records, rules, kNow);
  if (verdict) check_accepted(*verdict, rules);
  if (!verdict) require(verdict.error().error != KafkaError::kNone);
}

}  // namespace
}  // namespace weir::kafka

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  using namespace weir::kafka;
  std::vector<std::byte> bytes(size);
  std::transform(data, data + size, bytes.begin(), [](std::uint8_t b) { return std::byte{b}; });
  run(Slice::copy_of(bytes), rules_from(4));
  if (size < kBatchHeaderSize) return 0;
  auto choice = load_big_endian<std::uint32_t>(bytes.data() + batch_layout::kCrc);
  auto length = load_big_endian<std::uint32_t>(bytes.data() + batch_layout::kBatchLength);
  std::size_t end = std::min<std::size_t>(size, std::size_t{length} + batch_layout::kLengthEnd);
  if (end >= kBatchHeaderSize) {
    store_big_endian(bytes.data() + batch_layout::kCrc,
                     RecordBatchView(Bytes(bytes).first(end)).computed_crc());
  }
  run(Slice::of(std::move(bytes)), rules_from(choice));
  return 0;
}

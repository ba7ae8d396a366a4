// The header of a Kafka record batch, format version 2 (KIP-98), and the splitting of a run of
// bytes into batches. RecordBatchView is a view: the bytes must outlive it. Any thread. Timestamps
// are in milliseconds.
//
//   0 baseOffset i64 · 8 batchLength i32 · 12 partitionLeaderEpoch i32 · 16 magic i8 · 17 crc u32 ·
//   21 attributes i16 · 23 lastOffsetDelta i32 · 27 baseTimestamp i64 · 35 maxTimestamp i64 · 43
//   producerId i64 · 51 producerEpoch i16 · 53 baseSequence i32 · 57 recordsCount i32 · 61 records
//
// The CRC-32C covers byte 21 to the end: base offset and leader epoch may be set without touching
// it.
#pragma once
#include "base/big_endian.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/units.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::kafka {

namespace batch_layout {
constexpr std::size_t kBaseOffset = 0;
constexpr std::size_t kBatchLength = 8;
constexpr std::size_t kLeaderEpoch = 12;
constexpr std::size_t kMagic = 16;
constexpr std::size_t kCrc = 17;
constexpr std::size_t kAttributes = 21;
constexpr std::size_t kLastOffsetDelta = 23;
constexpr std::size_t kBaseTimestamp = 27;
constexpr std::size_t kMaxTimestamp = 35;
constexpr std::size_t kProducerId = 43;
constexpr std::size_t kProducerEpoch = 51;
constexpr std::size_t kBaseSequence = 53;
constexpr std::size_t kRecordsCount = 57;
constexpr std::size_t kRecords = 61;

// batchLength counts the bytes after itself.
constexpr std::size_t kLengthEnd = 12;
// What may be patched without a new CRC lies before this byte.
constexpr std::size_t kCrcFreePrefix = 16;
}  // namespace batch_layout

constexpr std::size_t kBatchHeaderSize = batch_layout::kRecords;
constexpr std::int8_t kBatchMagic = 2;

constexpr std::uint16_t kCodecMask = 0x07;
constexpr std::uint16_t kLogAppendTimeBit = 0x08;
constexpr std::uint16_t kTransactionalBit = 0x10;
constexpr std::uint16_t kControlBit = 0x20;
constexpr std::uint16_t kDeleteHorizonBit = 0x40;

// The codec ids of the attributes; 5 to 7 are not assigned.
enum class Codec : std::uint8_t { kNone = 0, kGzip = 1, kSnappy = 2, kLz4 = 3, kZstd = 4 };
constexpr std::uint8_t kCodecCount = 5;
[[nodiscard]] std::string_view to_string(Codec codec);

// `sequence` + `delta` in the circle 0 … 2^31 - 1 of producer sequences.
[[nodiscard]] std::int32_t advance_sequence(std::int32_t sequence, std::int32_t delta);

class RecordBatchView {
 public:
  // `batch` holds one batch, from its first byte to its last: at least kBatchHeaderSize bytes.
  explicit RecordBatchView(Bytes batch) : bytes_(batch) {}

  // The batch at the start of `bytes`, which may go on after it. Errors: kCorrupt when the bytes
  // are no complete batch of magic 2. The CRC is not checked.
  [[nodiscard]] static Result<RecordBatchView> first_of(Bytes bytes);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  // The bytes after the header, compressed when codec() is not kNone.
  [[nodiscard]] Bytes records() const { return bytes_.subspan(batch_layout::kRecords); }

  [[nodiscard]] Offset base_offset() const { return get<std::int64_t>(batch_layout::kBaseOffset); }
  [[nodiscard]] LeaderEpoch leader_epoch() const {
    return get<std::int32_t>(batch_layout::kLeaderEpoch);
  }
  [[nodiscard]] std::int8_t magic() const { return get<std::int8_t>(batch_layout::kMagic); }
  [[nodiscard]] std::uint32_t crc() const { return get<std::uint32_t>(batch_layout::kCrc); }
  [[nodiscard]] std::uint16_t attributes() const {
    return get<std::uint16_t>(batch_layout::kAttributes);
  }
  [[nodiscard]] std::int32_t last_offset_delta() const {
    return get<std::int32_t>(batch_layout::kLastOffsetDelta);
  }
  [[nodiscard]] TimestampMs base_timestamp() const {
    return get<std::int64_t>(batch_layout::kBaseTimestamp);
  }
  [[nodiscard]] TimestampMs max_timestamp() const {
    return get<std::int64_t>(batch_layout::kMaxTimestamp);
  }
  [[nodiscard]] ProducerId producer_id() const {
    return get<std::int64_t>(batch_layout::kProducerId);
  }
  [[nodiscard]] ProducerEpoch producer_epoch() const {
    return get<std::int16_t>(batch_layout::kProducerEpoch);
  }
  [[nodiscard]] std::int32_t base_sequence() const {
    return get<std::int32_t>(batch_layout::kBaseSequence);
  }
  [[nodiscard]] std::int32_t records_count() const {
    return get<std::int32_t>(batch_layout::kRecordsCount);
  }

  [[nodiscard]] Offset last_offset() const { return base_offset() + last_offset_delta(); }
  // -1 without a sequence.
  [[nodiscard]] std::int32_t last_sequence() const;
  [[nodiscard]] std::uint8_t codec_id() const {
    return static_cast<std::uint8_t>(attributes() & kCodecMask);
  }
  // codec_id() must be below kCodecCount.
  [[nodiscard]] Codec codec() const { return static_cast<Codec>(codec_id()); }
  [[nodiscard]] bool is_log_append_time() const { return (attributes() & kLogAppendTimeBit) != 0; }
  [[nodiscard]] bool is_transactional() const { return (attributes() & kTransactionalBit) != 0; }
  [[nodiscard]] bool is_control() const { return (attributes() & kControlBit) != 0; }
  [[nodiscard]] bool has_delete_horizon() const { return (attributes() & kDeleteHorizonBit) != 0; }

  [[nodiscard]] std::uint32_t computed_crc() const;
  [[nodiscard]] bool crc_matches() const { return crc() == computed_crc(); }

 private:
  template <typename T>
  [[nodiscard]] T get(std::size_t at) const {
    return load_big_endian<T>(bytes_.data() + at);
  }

  Bytes bytes_;
};

// Walks the batches of a run: what was stored for a partition, or a fetch answer. Every batch must
// be complete.
class BatchRun {
 public:
  explicit BatchRun(Bytes run) : rest_(run) {}

  // The next batch. Nothing: the run ended, or status() has the error.
  std::optional<RecordBatchView> next();
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Bytes rest_;
  Status status_;
};

}  // namespace weir::kafka

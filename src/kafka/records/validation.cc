#include "kafka/records/validation.h"

#include "base/planted.h"
#include "kafka/records/batch_builder.h"
#include "kafka/records/patching.h"
#include "kafka/records/record_checks.h"

#include <fmt/format.h>

namespace weir::kafka {
namespace {

using Verdict = std::expected<void, BatchRejection>;

std::unexpected<BatchRejection> reject(KafkaError error, std::string message) {
  return std::unexpected(BatchRejection{error, std::move(message), {}});
}

// What lies at the start of `bytes`, as far as a broker looks to tell batches apart. The formats 0
// to 2 have their magic at the same place.
struct Framing {
  std::size_t size = 0;  // 0: no complete batch
  std::int8_t magic = 0;
};

std::expected<Framing, BatchRejection> read_framing(Bytes bytes) {
  using namespace batch_layout;
  // The shortest message of the oldest format.
  constexpr std::int32_t kMinLength = 14;
  if (bytes.size() < kLengthEnd) return Framing{};
  auto length = load_big_endian<std::int32_t>(bytes.data() + kBatchLength);
  if (length < kMinLength) {
    return reject(
        KafkaError::kCorruptMessage,
        fmt::format("record batch of length {}, expected {} or more", length, kMinLength));
  }
  if (bytes.size() <= kMagic) return Framing{};
  auto magic = load_big_endian<std::int8_t>(bytes.data() + kMagic);
  if (magic < 0 || magic > kBatchMagic) {
    return reject(KafkaError::kCorruptMessage,
                  fmt::format("record batch of magic {}, expected 2", magic));
  }
  std::size_t size = static_cast<std::size_t>(length) + kLengthEnd;
  return Framing{size <= bytes.size() ? size : 0, magic};
}

// The one batch of a partition in a Produce request. An incomplete batch after it is ignored, as
// Kafka does.
std::expected<Slice, BatchRejection> single_batch(const Slice& records,
                                                  const ValidationRules& rules) {
  auto first = read_framing(records.bytes());
  if (!first) return std::unexpected(std::move(first).error());
  if (first->size == 0) {
    return reject(KafkaError::kInvalidRecord,
                  "a partition must have one record batch, it has none");
  }
  if (first->magic != kBatchMagic) {
    return reject(KafkaError::kInvalidRecord,
                  fmt::format("record batch of magic {}, expected 2", first->magic));
  }
  if (first->size < kBatchHeaderSize) {
    return reject(KafkaError::kCorruptMessage,
                  fmt::format("record batch of {} bytes, expected {} or more", first->size,
                              kBatchHeaderSize));
  }
  Slice batch = records.sub(0, first->size);
  RecordBatchView view(batch.bytes());
  if (view.codec_id() >= kCodecCount) {
    return reject(KafkaError::kInvalidRecord,
                  fmt::format("unknown compression codec {}", view.codec_id()));
  }
  constexpr std::int16_t kFirstVersionWithZstd = 7;
  if (view.codec() == Codec::kZstd && rules.produce_version < kFirstVersionWithZstd) {
    return reject(KafkaError::kUnsupportedCompressionType,
                  fmt::format("Produce version {} does not know zstd", rules.produce_version));
  }
  auto second = read_framing(records.bytes().subspan(first->size));
  if (!second) return std::unexpected(std::move(second).error());
  if (second->size != 0) {
    return reject(KafkaError::kInvalidRecord,
                  "a partition must have one record batch, it has several");
  }
  return batch;
}

Verdict check_size(std::size_t size, const ValidationRules& rules) {
  if (size <= rules.max_message_bytes) return {};
  return reject(KafkaError::kMessageTooLarge,
                fmt::format("the record batch has {} bytes, max.message.bytes is {}", size,
                            rules.max_message_bytes));
}

Verdict check_header(const RecordBatchView& batch, const ValidationRules& rules) {
  if (batch.base_offset() != 0) {
    return reject(KafkaError::kInvalidRecord,
                  fmt::format("base offset {}, expected 0", batch.base_offset()));
  }
  if (Verdict size = check_size(batch.size(), rules); !size) return size;
  if (!batch.crc_matches()) {
    return reject(KafkaError::kCorruptMessage,
                  fmt::format("CRC-32C {:#010x}, the batch says {:#010x}", batch.computed_crc(),
                              batch.crc()));
  }
  if (batch.records_count() <= 0 ||
      std::int64_t{batch.last_offset_delta()} + 1 != batch.records_count()) {
    return reject(KafkaError::kInvalidRecord,
                  fmt::format("{} records with a last offset delta of {}", batch.records_count(),
                              batch.last_offset_delta()));
  }
  if (batch.is_control()) {
    return reject(KafkaError::kInvalidRecord, "clients must not write control batches");
  }
  if (batch.producer_id() >= 0 && batch.base_sequence() < 0) {
    return reject(KafkaError::kInvalidRecord,
                  fmt::format("base sequence {} with producer id {}", batch.base_sequence(),
                              batch.producer_id()));
  }
  return {};
}

// Passes chunks on, and on the way to a compressor. Once the compressor's limit is reached only the
// chunks go on: what else is wrong with the records is to be told first.
class RecompressingSource final : public ChunkSource {
 public:
  RecompressingSource(ChunkSource& source, Compressor& compressor)
      : source_(source), compressor_(compressor) {}

  Result<Bytes> next() override {
    Result<Bytes> chunk = source_.next();
    if (chunk && compressed_) compressed_ = compressor_.write(*chunk);
    return chunk;
  }
  Status finish() {
    if (!compressed_) return compressed_;
    return compressor_.finish();
  }

 private:
  ChunkSource& source_;
  Compressor& compressor_;
  Status compressed_;
};

Verdict structure_error(const Status& status) {
  // Clients split a batch that is too large, and only then.
  bool too_large = status.error().code == ErrorCode::kExhausted;
  return reject(too_large ? KafkaError::kMessageTooLarge : KafkaError::kInvalidRecord,
                status.error().message);
}

// Looks at every record of `source`.
Verdict walk(ChunkSource& source, const RecordBatchView& batch, const ValidationRules& rules,
             RecordChecks& checks) {
  constexpr std::int32_t kAny = std::numeric_limits<std::int32_t>::max();
  RecordWalker walker(source,
                      batch.codec() == Codec::kNone ? kAny : rules.max_decompressed_record_bytes);
  RecordInfo record;
  for (std::int32_t i = 0; i < batch.records_count(); ++i) {
    if (!walker.next(record)) {
      if (!walker.status()) return structure_error(walker.status());
      return reject(KafkaError::kInvalidRecord,
                    fmt::format("the batch says {} records and has {}", batch.records_count(), i));
    }
    checks.check(record);
  }
  bool ended = walker.at_end();
  if (!walker.status()) return structure_error(walker.status());
  if (!ended) {
    return reject(KafkaError::kInvalidRecord,
                  fmt::format("bytes after the last of {} records", batch.records_count()));
  }
  if (auto rejection = checks.take_rejection()) return std::unexpected(std::move(*rejection));
  return {};
}

std::expected<Slice, BatchRejection> compressed_result(const Status& status, ByteWriter out,
                                                       BatchHeader header, Codec codec) {
  if (!status) return std::unexpected(std::move(structure_error(status)).error());
  header.set_codec(codec);
  return seal_batch(out.release(), header);
}

// A writer with room for a batch header at its front.
ByteWriter batch_writer() {
  ByteWriter out;
  out.bytes(std::array<std::byte, kBatchHeaderSize>{});
  return out;
}

// The batch with offset deltas 0, 1, 2, …
std::expected<Slice, BatchRejection> rebuild(const Slice& batch, const ValidationRules& rules,
                                             const Compression& target) {
  RecordBatchView view(batch.bytes());
  Result<Slice> records =
      decompress(view.codec(), batch.sub(kBatchHeaderSize),
                 std::min(rules.max_decompressed_batch_bytes, rules.max_renumbered_batch_bytes));
  if (!records) {
    return std::unexpected(structure_error(std::unexpected(records.error())).error());
  }
  ByteWriter out = batch_writer();
  auto compressor = make_compressor(target, out, rules.max_message_bytes);
  RecordReader reader(records->bytes());
  std::int32_t offset_delta = 0;
  Status done;
  while (auto record = reader.next()) {
    record->offset_delta = offset_delta++;
    if (planted(Bug::kRecompressionDropsRecord) && offset_delta == 2) continue;
    ByteWriter renumbered;
    write_record(renumbered, *record);
    if (done) done = compressor->write(renumbered.view());
  }
  if (!reader.status()) return reject(KafkaError::kInvalidRecord, reader.status().error().message);
  if (done) done = compressor->finish();
  return compressed_result(done, std::move(out), BatchHeader::of(view), target.codec);
}

// The codec and level to store the batch with; nothing: as it is.
std::optional<Compression> new_compression(const RecordBatchView& batch,
                                           const ValidationRules& rules) {
  if (rules.compression && rules.compression->codec != batch.codec()) return rules.compression;
  if (batch.codec() == Codec::kLz4 && !has_independent_blocks(batch.records())) {
    return rules.compression.value_or(Compression{Codec::kLz4, {}});
  }
  return std::nullopt;
}

// Checks every record and gives the batch with the codec and the offsets it is to have. A rewritten
// batch is no larger than max.message.bytes: that is the compressor's limit.
std::expected<Slice, BatchRejection> check_records(const Slice& batch, const ValidationRules& rules,
                                                   RecordChecks& checks) {
  RecordBatchView view(batch.bytes());
  auto source = make_decompressor(view.codec(), view.records(), rules.max_decompressed_batch_bytes);
  std::optional<Compression> target = new_compression(view, rules);
  if (target) {
    ByteWriter out = batch_writer();
    auto compressor = make_compressor(*target, out, rules.max_message_bytes);
    RecompressingSource through(*source, *compressor);
    if (Verdict walked = walk(through, view, rules, checks); !walked) {
      return std::unexpected(std::move(walked).error());
    }
    if (checks.is_dense() && !planted(Bug::kRecompressionDropsRecord)) {
      return compressed_result(through.finish(), std::move(out), BatchHeader::of(view),
                               target->codec);
    }
  } else if (Verdict walked = walk(*source, view, rules, checks); !walked) {
    return std::unexpected(std::move(walked).error());
  }
  if (checks.is_dense() && !(target && planted(Bug::kRecompressionDropsRecord))) return batch;
  return rebuild(batch, rules, target.value_or(Compression{view.codec(), {}}));
}

AcceptedBatch accepted(Slice batch, const Slice& original, TimestampMs max_timestamp) {
  RecordBatchView view(batch.bytes());
  return {.batch = batch,
          .rewritten = batch.data() != original.data(),
          .record_count = view.records_count(),
          .max_timestamp = max_timestamp,
          .producer_id = view.producer_id(),
          .producer_epoch = view.producer_epoch(),
          .base_sequence = view.base_sequence(),
          .last_sequence = view.last_sequence(),
          .transactional = view.is_transactional()};
}

}  // namespace

BatchVerdict validate_batch(const Slice& records, const ValidationRules& rules,
                            TimestampMs now_ms) {
  auto original = single_batch(records, rules);
  if (!original) {
    original.error().is_no_batch = true;
    return std::unexpected(std::move(original).error());
  }
  RecordBatchView view(original->bytes());
  if (Verdict header = check_header(view, rules); !header) {
    return std::unexpected(std::move(header).error());
  }
  RecordChecks checks(view, rules, now_ms);
  auto batch = check_records(*original, rules, checks);
  if (!batch) return std::unexpected(std::move(batch).error());
  if (batch->size() > rules.segment_bytes) {
    return reject(KafkaError::kRecordListTooLarge,
                  fmt::format("the record batch has {} bytes, segment.bytes is {}", batch->size(),
                              rules.segment_bytes));
  }
  // Stored without the LogAppendTime bit and with the true greatest timestamp; a topic with
  // LogAppendTime sets both when the time of the append is known.
  RecordBatchView stored(batch->bytes());
  if (stored.is_log_append_time() || stored.max_timestamp() != checks.max_timestamp()) {
    auto attributes = static_cast<std::uint16_t>(stored.attributes() & ~kLogAppendTimeBit);
    *batch = with_timestamps(*batch, attributes, checks.max_timestamp());
  }
  return accepted(*batch, *original, checks.max_timestamp());
}

}  // namespace weir::kafka

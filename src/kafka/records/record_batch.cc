#include "kafka/records/record_batch.h"

#include "base/crc32c.h"

#include <fmt/format.h>

namespace weir::kafka {

std::string_view to_string(Codec codec) {
  switch (codec) {
    case Codec::kNone:
      return "none";
    case Codec::kGzip:
      return "gzip";
    case Codec::kSnappy:
      return "snappy";
    case Codec::kLz4:
      return "lz4";
    case Codec::kZstd:
      return "zstd";
  }
  return "unknown";
}

std::int32_t advance_sequence(std::int32_t sequence, std::int32_t delta) {
  constexpr std::int64_t kCircle = std::int64_t{1} << 31;
  return static_cast<std::int32_t>((std::int64_t{sequence} + delta) % kCircle);
}

Result<RecordBatchView> RecordBatchView::first_of(Bytes bytes) {
  using namespace batch_layout;
  if (bytes.size() < kBatchHeaderSize) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("a record batch has a header of {} bytes, there are only {}",
                            kBatchHeaderSize, bytes.size()));
  }
  auto length = load_big_endian<std::int32_t>(bytes.data() + kBatchLength);
  auto magic = load_big_endian<std::int8_t>(bytes.data() + kMagic);
  if (magic != kBatchMagic) {
    return fail(ErrorCode::kCorrupt, fmt::format("record batch of magic {}, expected 2", magic));
  }
  constexpr auto kShortest = static_cast<std::int32_t>(kBatchHeaderSize - kLengthEnd);
  if (length < kShortest || static_cast<std::size_t>(length) > bytes.size() - kLengthEnd) {
    return fail(ErrorCode::kCorrupt, fmt::format("record batch of length {}, expected {} to {}",
                                                 length, kShortest, bytes.size() - kLengthEnd));
  }
  return RecordBatchView(bytes.first(static_cast<std::size_t>(length) + kLengthEnd));
}

std::int32_t RecordBatchView::last_sequence() const {
  return base_sequence() < 0 ? -1 : advance_sequence(base_sequence(), last_offset_delta());
}

std::uint32_t RecordBatchView::computed_crc() const {
  return crc32c(bytes_.subspan(batch_layout::kAttributes));
}

std::optional<RecordBatchView> BatchRun::next() {
  if (rest_.empty() || !status_) return std::nullopt;
  Result<RecordBatchView> found = RecordBatchView::first_of(rest_);
  if (!found) {
    status_ = std::unexpected(std::move(found).error());
    return std::nullopt;
  }
  rest_ = rest_.subspan(found->size());
  return *found;
}

}  // namespace weir::kafka

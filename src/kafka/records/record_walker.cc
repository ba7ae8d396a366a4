#include "kafka/records/record_walker.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::kafka {

bool RecordWalker::next(RecordInfo& record) {
  if (at_end() || !status_) return false;
  record_start_ = position();
  std::int32_t length = 0;
  if (!read_varint(length)) return malformed("the length is no varint");
  if (length < 0) return malformed("the length is negative");
  if (length > max_record_bytes_) {
    status_ = fail(ErrorCode::kCorrupt,
                   fmt::format("record of {} bytes, the limit is {}", length, max_record_bytes_));
    return false;
  }
  std::uint64_t limit = position() + static_cast<std::uint64_t>(length);
  if (!read_body(record, limit)) return malformed("a field is malformed or passes its end");
  if (position() != limit) return malformed("its fields and its length differ");
  return true;
}

bool RecordWalker::read_body(RecordInfo& record, std::uint64_t limit) {
  std::uint8_t attributes = 0;
  std::int32_t headers = 0;
  if (!read_byte(attributes) || !read_varlong(record.timestamp_delta) ||
      !read_varint(record.offset_delta) || !skip_nullable(limit, record.has_key) ||
      !skip_nullable(limit, record.has_value) || !read_varint(headers) || headers < 0) {
    return false;
  }
  for (std::int32_t i = 0; i < headers; ++i) {
    bool has_key = false;
    bool has_value = false;
    if (!skip_nullable(limit, has_key) || !has_key || !skip_nullable(limit, has_value)) {
      return false;
    }
  }
  return true;
}

bool RecordWalker::skip_nullable(std::uint64_t limit, bool& present) {
  std::int32_t length = 0;
  if (!read_varint(length) || length < -1) return false;
  present = length >= 0;
  if (!present) return true;
  std::uint64_t here = position();
  auto count = static_cast<std::uint64_t>(length);
  return here <= limit && count <= limit - here && skip(count);
}

bool RecordWalker::skip(std::uint64_t count) {
  while (count > static_cast<std::uint64_t>(end_ - at_)) {
    count -= static_cast<std::uint64_t>(end_ - at_);
    if (!refill()) return false;
  }
  at_ += count;
  return true;
}

bool RecordWalker::at_end() { return at_ == end_ && !refill(); }

bool RecordWalker::refill() {
  chunk_start_ += static_cast<std::uint64_t>(end_ - begin_);
  begin_ = at_ = end_ = nullptr;
  if (!status_) return false;
  Result<Bytes> chunk = source_.next();
  if (!chunk) {
    status_ = std::unexpected(std::move(chunk).error());
    return false;
  }
  if (chunk->empty()) return false;
  begin_ = at_ = chunk->data();
  end_ = begin_ + chunk->size();
  return true;
}

bool RecordWalker::read_byte(std::uint8_t& byte) {
  if (at_ == end_ && !refill()) return false;
  byte = static_cast<std::uint8_t>(*at_++);
  return true;
}

bool RecordWalker::read_raw(std::uint64_t& raw, int last_shift, std::uint8_t last_max) {
  raw = 0;
  for (int shift = 0; shift <= last_shift; shift += 7) {
    std::uint8_t byte = 0;
    if (!read_byte(byte) || (shift == last_shift && byte > last_max)) return false;
    raw |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool RecordWalker::read_varint(std::int32_t& value) {
  std::uint64_t raw = 0;
  if (!read_raw(raw, 28, 0x0F)) return false;
  auto bits = static_cast<std::uint32_t>(raw);
  value = static_cast<std::int32_t>((bits >> 1) ^ (~(bits & 1) + 1));
  return true;
}

bool RecordWalker::read_varlong(std::int64_t& value) {
  std::uint64_t raw = 0;
  if (!read_raw(raw, 63, 0x01)) return false;
  value = static_cast<std::int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
  return true;
}

bool RecordWalker::malformed(const char* what) {
  // An error of the source says more.
  if (status_) {
    status_ = fail(ErrorCode::kCorrupt,
                   fmt::format("malformed record at byte {}: {}", record_start_, what));
  }
  return false;
}

}  // namespace weir::kafka

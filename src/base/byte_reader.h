// A cursor over bytes for decoders of the Kafka protocol and of Weir's own formats (big-endian).
// The first read past the end or over-long varint makes the reader fail for good: every later read
// gives zero or nothing, and one ok() at the end tells. Not thread-safe; the bytes must outlive the
// views it returns.
#pragma once
#include "base/bytes.h"
#include "base/uuid.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir {

class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - at_; }
  [[nodiscard]] std::size_t position() const { return at_; }
  // Read to the last byte, without failure.
  [[nodiscard]] bool done() const { return ok_ && remaining() == 0; }
  void set_failed() {
    ok_ = false;
    at_ = bytes_.size();
  }

  std::int8_t i8() { return static_cast<std::int8_t>(fixed<std::uint8_t>()); }
  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::int16_t i16() { return static_cast<std::int16_t>(fixed<std::uint16_t>()); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::int32_t i32() { return static_cast<std::int32_t>(fixed<std::uint32_t>()); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::int64_t i64() { return static_cast<std::int64_t>(fixed<std::uint64_t>()); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  double f64() { return std::bit_cast<double>(fixed<std::uint64_t>()); }
  Uuid uuid() {
    Uuid id;
    id.high = u64();
    id.low = u64();
    return id;
  }

  // Unsigned varints (at most 5 and 10 bytes) and their zigzag forms.
  std::uint32_t uvarint();
  std::uint64_t uvarlong();
  std::int32_t varint() {
    std::uint32_t raw = uvarint();
    return static_cast<std::int32_t>((raw >> 1) ^ (~(raw & 1) + 1));
  }
  std::int64_t varlong() {
    std::uint64_t raw = uvarlong();
    return static_cast<std::int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
  }

  // The next `count` bytes, or an empty view and failure.
  Bytes take(std::size_t count) {
    if (count > remaining()) {
      set_failed();
      return {};
    }
    Bytes out = bytes_.subspan(at_, count);
    at_ += count;
    return out;
  }
  std::string_view text(std::size_t count) { return as_text(take(count)); }
  void skip(std::size_t count) { take(count); }

 private:
  template <typename T>
  T fixed() {
    if (remaining() < sizeof(T)) {
      set_failed();
      return 0;
    }
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    if constexpr (std::endian::native == std::endian::little) value = std::byteswap(value);
    return value;
  }

  Bytes bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace weir

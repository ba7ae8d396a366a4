// Appends to a growing byte vector, big-endian: the counterpart of ByteReader. Not thread-safe.
#pragma once
#include "base/bytes.h"
#include "base/uuid.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace weir {

class ByteWriter {
 public:
  void reserve(std::size_t size) { out_.reserve(size); }

  void u8(std::uint8_t v) { out_.push_back(static_cast<std::byte>(v)); }
  void i8(std::int8_t v) { u8(static_cast<std::uint8_t>(v)); }
  void u16(std::uint16_t v) { fixed(v); }
  void i16(std::int16_t v) { fixed(static_cast<std::uint16_t>(v)); }
  void u32(std::uint32_t v) { fixed(v); }
  void i32(std::int32_t v) { fixed(static_cast<std::uint32_t>(v)); }
  void u64(std::uint64_t v) { fixed(v); }
  void i64(std::int64_t v) { fixed(static_cast<std::uint64_t>(v)); }
  void f64(double v) { fixed(std::bit_cast<std::uint64_t>(v)); }
  void uuid(const Uuid& id) {
    u64(id.high);
    u64(id.low);
  }
  void uvarlong(std::uint64_t v) {
    while (v >= 0x80) {
      u8(static_cast<std::uint8_t>(v | 0x80));
      v >>= 7;
    }
    u8(static_cast<std::uint8_t>(v));
  }
  void uvarint(std::uint32_t v) { uvarlong(v); }
  void varlong(std::int64_t v) {
    uvarlong((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
  }
  void varint(std::int32_t v) {
    uvarint((static_cast<std::uint32_t>(v) << 1) ^ static_cast<std::uint32_t>(v >> 31));
  }
  void bytes(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void text(std::string_view text) { bytes(as_bytes(text)); }

  [[nodiscard]] std::size_t size() const { return out_.size(); }
  [[nodiscard]] Bytes view() const { return out_; }
  // Overwrites four bytes already written, for lengths known only afterwards.
  void patch_u32(std::size_t at, std::uint32_t v) {
    if constexpr (std::endian::native == std::endian::little) v = std::byteswap(v);
    std::memcpy(out_.data() + at, &v, sizeof v);
  }
  [[nodiscard]] std::vector<std::byte> release() { return std::exchange(out_, {}); }
  [[nodiscard]] Slice to_slice() { return Slice::of(release()); }

 private:
  template <typename T>
  void fixed(T v) {
    if constexpr (std::endian::native == std::endian::little) v = std::byteswap(v);
    std::size_t at = out_.size();
    out_.resize(at + sizeof(T));
    std::memcpy(out_.data() + at, &v, sizeof(T));
  }

  std::vector<std::byte> out_;
};

}  // namespace weir

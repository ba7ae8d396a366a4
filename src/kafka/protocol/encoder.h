// Writes the field types of the Kafka protocol in two passes over the same generated code:
// SizeCounter adds up the exact size, ChainWriter fills one buffer of that size. Records are not
// copied: they stay slices of their own between parts of the buffer. One thread at a time.
#pragma once
#include "base/bytes.h"
#include "base/uuid.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::kafka {

// What both passes share. `Pass` has the fixed-size writes, raw() and chained().
template <typename Pass>
class Encoder {
 public:
  void string(std::string_view value, bool flexible);
  void nullable_string(const std::optional<std::string_view>& value, bool flexible);
  void nullable_string(const std::optional<std::string>& value, bool flexible);
  void bytes(Bytes value, bool flexible);
  void bytes(const Slice& value, bool flexible) { bytes(value.bytes(), flexible); }
  void nullable_bytes(const std::optional<Bytes>& value, bool flexible);
  void nullable_bytes(const std::optional<Slice>& value, bool flexible);
  void nullable_bytes(const std::optional<std::vector<std::byte>>& value, bool flexible);
  void records(const Slice& value, bool flexible);
  void records(const Chain& value, bool flexible);
  void nullable_records(const std::optional<Slice>& value, bool flexible);
  void nullable_records(const std::optional<Chain>& value, bool flexible);
  void array(std::size_t count, bool flexible) { length(count, flexible); }
  void null_array(bool flexible) { null(flexible); }
  void boolean(bool value) { pass().u8(value ? 1 : 0); }
  void i8(std::int8_t value) { pass().u8(static_cast<std::uint8_t>(value)); }
  void i16(std::int16_t value) { pass().u16(static_cast<std::uint16_t>(value)); }
  void i32(std::int32_t value) { pass().u32(static_cast<std::uint32_t>(value)); }
  void i64(std::int64_t value) { pass().u64(static_cast<std::uint64_t>(value)); }
  void f64(double value);
  void uvarint(std::uint32_t value) { uvarlong(value); }
  void uvarlong(std::uint64_t value);
  void varint(std::int32_t value) {
    uvarint((static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 31));
  }
  void varlong(std::int64_t value) {
    uvarlong((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void uuid(const Uuid& value) {
    pass().u64(value.high);
    pass().u64(value.low);
  }

 private:
  Pass& pass() { return static_cast<Pass&>(*this); }
  void length(std::size_t count, bool flexible);
  void null(bool flexible);
  void null_string(bool flexible);
};

class SizeCounter : public Encoder<SizeCounter> {
 public:
  void u8(std::uint8_t) { size_ += 1; }
  void u16(std::uint16_t) { size_ += 2; }
  void u32(std::uint32_t) { size_ += 4; }
  void u64(std::uint64_t) { size_ += 8; }
  void raw(Bytes value) { size_ += value.size(); }
  void chained(const Slice& value) { chained_ += value.size(); }
  // A value that its length field cannot hold.
  void too_long(std::size_t size) {
    if (too_long_ < size) too_long_ = size;
  }

  [[nodiscard]] std::size_t total() const { return size_ + chained_; }
  [[nodiscard]] std::size_t in_buffer() const { return size_; }
  // The size of the longest string that does not fit, 0 where all fit.
  [[nodiscard]] std::size_t longest_misfit() const { return too_long_; }

 private:
  std::size_t size_ = 0;
  std::size_t chained_ = 0;
  std::size_t too_long_ = 0;
};

class ChainWriter : public Encoder<ChainWriter> {
 public:
  // `size`: SizeCounter::in_buffer() of all that will be written.
  explicit ChainWriter(std::size_t size);

  void u8(std::uint8_t value) { fixed(value); }
  void u16(std::uint16_t value) { fixed(value); }
  void u32(std::uint32_t value) { fixed(value); }
  void u64(std::uint64_t value) { fixed(value); }
  void raw(Bytes value);
  void chained(const Slice& value);
  void too_long(std::size_t) {}

  // All that was written; call once. The buffer must be full to the last byte.
  [[nodiscard]] Chain finish();

 private:
  template <typename T>
  void fixed(T value) {
    if constexpr (std::endian::native == std::endian::little && sizeof(T) > 1) {
      value = std::byteswap(value);
    }
    raw(std::as_bytes(std::span(&value, 1)));
  }
  void cut();

  Buffer buffer_;
  Slice whole_;
  std::size_t at_ = 0;
  std::size_t cut_at_ = 0;
  Chain out_;
};

inline void ChainWriter::raw(Bytes value) {
  MutableBytes room = buffer_.bytes();
  // A wrong size is a bug of the generator; going on would overwrite memory.
  if (value.size() > room.size() - at_) __builtin_trap();
  if (!value.empty()) std::memcpy(room.data() + at_, value.data(), value.size());
  at_ += value.size();
}

extern template class Encoder<SizeCounter>;
extern template class Encoder<ChainWriter>;

// One tagged field: its tag, its size, and what `body` writes to the encoder that it gets.
template <typename Pass, typename Body>
void put_tagged(Pass& out, std::uint32_t tag, Body body) {
  SizeCounter size;
  body(size);
  out.uvarint(tag);
  out.uvarint(static_cast<std::uint32_t>(size.total()));
  body(out);
}

}  // namespace weir::kafka

// Reads the field types of the Kafka protocol from a slice. Sticky: after the first mistake every
// read gives zero, null or nothing, and finish() names the mistake. Memory is bounded before it is
// allocated: an array's count is checked against the bytes that are left, and all arrays together
// against a small multiple of the input. Slices and views that it returns refer to the input's
// memory, but for text in requests that is not UTF-8: as in Apache Kafka, U+FFFD stands for what it
// cannot say (base/utf8.h), and release_texts() keeps it. One thread at a time.
//
// "Flexible" is Kafka's word (KIP-482) for the compact encoding: lengths as varints plus one,
// tagged fields behind structs.
#pragma once
#include "base/byte_reader.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/uuid.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::kafka {

// What the views of a decoded message refer to where its input has the text otherwise. Copies share
// it. All are equal: the fields have what it holds.
class KeptTexts {
 public:
  // The view lives as long as this or a copy does.
  std::string_view keep(std::string text);
  bool operator==(const KeptTexts&) const { return true; }

 private:
  std::shared_ptr<std::deque<std::string>> texts_;
};

class Decoder {
 public:
  // The decoded arrays of a message, and texts that are kept, may take `memory` bytes in all.
  Decoder(const Slice& input, std::size_t memory);

  [[nodiscard]] bool ok() const { return in_.ok() && why_ == nullptr; }
  // Ends with the given reason, a string that lives for ever. The first reason stays.
  void fail(const char* why, ErrorCode code = ErrorCode::kInvalid);
  // The result of decoding `name` (for people: "Fetch request") in `version`; bytes left over are a
  // mistake too. Errors: kExhausted (arrays take more than `memory`), kInvalid.
  [[nodiscard]] Status finish(std::string_view name, std::int16_t version);

  bool boolean() { return in_.u8() != 0; }
  std::int8_t i8() { return in_.i8(); }
  std::int16_t i16() { return in_.i16(); }
  std::uint16_t u16() { return in_.u16(); }
  std::int32_t i32() { return in_.i32(); }
  std::uint32_t u32() { return in_.u32(); }
  std::int64_t i64() { return in_.i64(); }
  std::int32_t varint() { return in_.varint(); }
  std::int64_t varlong() { return in_.varlong(); }
  double f64() { return in_.f64(); }
  Uuid uuid() { return in_.uuid(); }

  // Text. The plain ones fail on null. The views are of requests, UTF-8, and of at most 32767
  // bytes; what is owned comes from brokers and from Weir's own files, and stays as it is.
  std::string_view view(bool flexible);
  std::optional<std::string_view> nullable_view(bool flexible);
  std::string text(bool flexible);
  std::optional<std::string> nullable_text(bool flexible);
  // What some views refer to from here on.
  [[nodiscard]] KeptTexts release_texts() { return std::move(texts_); }

  // Bytes, as a view, as a slice that keeps the input alive, as a copy. Records have the same form.
  Bytes bytes(bool flexible);
  std::optional<Bytes> nullable_bytes(bool flexible);
  Slice slice(bool flexible) { return {owner_, bytes(flexible)}; }
  std::optional<Slice> nullable_slice(bool flexible);
  Chain chain(bool flexible) { return Chain(slice(flexible)); }
  std::optional<Chain> nullable_chain(bool flexible);
  std::vector<std::byte> copy(bool flexible);
  std::optional<std::vector<std::byte>> nullable_copy(bool flexible);

  // The count of an array whose elements take at least `least` bytes each on the wire and `memory`
  // bytes when decoded.
  std::size_t array(bool flexible, std::size_t least, std::size_t memory);
  std::optional<std::size_t> nullable_array(bool flexible, std::size_t least, std::size_t memory);

  // The mark in front of a nullable struct.
  bool present();

  // All bytes that are left.
  Slice rest() { return {owner_, in_.take(in_.remaining())}; }

  // Skips the tagged fields of a struct that knows none.
  void skip_tags();

 private:
  friend class Tags;

  // A length or count: nothing for null.
  std::optional<std::size_t> length(bool flexible, bool short_length);
  std::optional<std::string_view> raw_text(bool flexible);
  std::string_view replaced(std::string_view text);

  std::shared_ptr<const void> owner_;
  ByteReader in_;
  std::size_t size_;
  std::size_t memory_left_;
  KeptTexts texts_;
  const char* why_ = nullptr;
  ErrorCode code_ = ErrorCode::kInvalid;
  std::size_t why_at_ = 0;
  std::size_t base_ = 0;  // where in_ begins in the whole input
};

// The tagged fields of one struct: while (tags.next()) read the field tags.tag() from the decoder,
// or tags.skip() it. Between, the decoder ends at the field's end.
class Tags {
 public:
  explicit Tags(Decoder& in);
  bool next();
  [[nodiscard]] std::uint32_t tag() const { return tag_; }
  void skip();

 private:
  void leave();

  Decoder& in_;
  ByteReader outer_;
  std::uint32_t left_;
  std::uint32_t tag_ = 0;
  std::size_t outer_base_ = 0;
  bool entered_ = false;
  bool first_ = true;
};

}  // namespace weir::kafka

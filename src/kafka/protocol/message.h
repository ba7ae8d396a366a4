// What generated messages have in common. A message M is a plain struct with kName, kMinVersion,
// kMaxVersion, kFlexibleFrom and kMemoryFactor; beside it stand
//   void read(Decoder&, std::int16_t version, M&);
//   void write(SizeCounter&, const M&, std::int16_t version);   and the same for ChainWriter
//   void write_json(JsonWriter&, const M&, std::int16_t version);
// The functions here call them. Fields that a version lacks keep their default when read and are
// left out when written. The views and slices of a decoded request refer to the memory of the input
// slice and, for text that was not UTF-8, to what the request itself keeps: keep both.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "kafka/protocol/decoder.h"
#include "kafka/protocol/encoder.h"
#include "kafka/protocol/json_writer.h"

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace weir::kafka {

// kFlexibleFrom of a message that is never flexible.
constexpr std::int16_t kNeverFlexible = std::numeric_limits<std::int16_t>::max();

[[nodiscard]] Status check_version(std::string_view name, std::int16_t version, std::int16_t min,
                                   std::int16_t max);
// What decoded arrays may take for each byte of input. Honest messages of clients stay below it
// even with topic names of one letter. Weir's own structs pack tighter and come with a checksum.
constexpr std::size_t kMessageMemoryFactor = 16;
constexpr std::size_t kStructMemoryFactor = 64;
// And what small messages may take besides.
constexpr std::size_t kMemoryAllowance = std::size_t{64} << 10;

[[nodiscard]] constexpr std::size_t memory_for(std::size_t input, std::size_t factor) {
  return kMemoryAllowance + factor * input;
}

// An error where a string is too long for its length field, or all is longer than a frame may be.
[[nodiscard]] Status check_size(std::string_view name, std::int16_t version,
                                const SizeCounter& size);

// The message that `input` holds, from its first byte to its last, with arrays of at most `memory`
// bytes. Errors: kExhausted (they take more), kInvalid.
template <typename M>
[[nodiscard]] Result<M> decode_within(std::size_t memory, const Slice& input,
                                      std::int16_t version) {
  WEIR_CHECK(check_version(M::kName, version, M::kMinVersion, M::kMaxVersion));
  Decoder in(input, memory);
  M message;
  read(in, version, message);
  WEIR_CHECK(in.finish(M::kName, version));
  if constexpr (requires { message.kept_texts; }) message.kept_texts = in.release_texts();
  return message;
}

// The same with the memory that any honest message of its size needs.
template <typename M>
[[nodiscard]] Result<M> decode(const Slice& input, std::int16_t version) {
  return decode_within<M>(memory_for(input.size(), M::kMemoryFactor), input, version);
}

// The exact number of bytes that encode() gives.
template <typename M>
[[nodiscard]] std::size_t encoded_size(const M& message, std::int16_t version) {
  SizeCounter size;
  write(size, message, version);
  return size.total();
}

// The encoded message; its records are slices of their own. Errors: kInvalid for a version that the
// message does not have and for a string longer than 32767 bytes in a version that is not flexible.
template <typename M>
[[nodiscard]] Result<Chain> encode(const M& message, std::int16_t version) {
  WEIR_CHECK(check_version(M::kName, version, M::kMinVersion, M::kMaxVersion));
  SizeCounter size;
  write(size, message, version);
  WEIR_CHECK(check_size(M::kName, version, size));
  ChainWriter out(size.in_buffer());
  write(out, message, version);
  return out.finish();
}

// One line of JSON with the fields of `version`; secrets are replaced by "****".
template <typename M>
[[nodiscard]] std::string to_json(const M& message, std::int16_t version) {
  JsonWriter out;
  write_json(out, message, version);
  return out.release();
}

}  // namespace weir::kafka

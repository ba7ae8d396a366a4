// For fuzz targets (x_fuzz.cc): how they state what must hold, and a way to pack several inputs
// into one.
#pragma once
#include "base/byte_reader.h"
#include "base/bytes.h"

#include <cstdlib>
#include <optional>
#include <span>

namespace weir::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline Bytes input(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

// The next of several pieces, each behind two bytes of length; of the last one what is there.
inline std::optional<Bytes> next_piece(ByteReader& in) {
  std::size_t size = in.u16();
  if (!in.ok()) return std::nullopt;
  return in.take(std::min(size, in.remaining()));
}

}  // namespace weir::fuzz

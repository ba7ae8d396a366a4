// Integers in network byte order at a place in memory, for fixed layouts that are read and patched
// by offset.
#pragma once
#include <bit>
#include <cstddef>
#include <cstring>

namespace weir {

// `at` must have sizeof(T) readable, or writable, bytes.
template <typename T>
[[nodiscard]] T load_big_endian(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  if constexpr (std::endian::native == std::endian::little && sizeof(T) > 1) {
    value = std::byteswap(value);
  }
  return value;
}

template <typename T>
void store_big_endian(std::byte* at, T value) {
  if constexpr (std::endian::native == std::endian::little && sizeof(T) > 1) {
    value = std::byteswap(value);
  }
  std::memcpy(at, &value, sizeof(T));
}

}  // namespace weir

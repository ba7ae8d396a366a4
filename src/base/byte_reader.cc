#include "base/byte_reader.h"

namespace weir {

std::uint32_t ByteReader::uvarint() {
  constexpr int kLastShift = 28;
  std::uint32_t value = 0;
  for (int shift = 0; shift <= kLastShift; shift += 7) {
    std::uint8_t byte = u8();
    // The fifth byte has room for four bits only.
    if (shift == kLastShift && byte > 0x0F) break;
    value |= static_cast<std::uint32_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  set_failed();
  return 0;
}

std::uint64_t ByteReader::uvarlong() {
  constexpr int kLastShift = 63;
  std::uint64_t value = 0;
  for (int shift = 0; shift <= kLastShift; shift += 7) {
    std::uint8_t byte = u8();
    if (shift == kLastShift && byte > 0x01) break;
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  set_failed();
  return 0;
}

}  // namespace weir

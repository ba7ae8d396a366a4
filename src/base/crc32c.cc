#include "base/crc32c.h"

#include <isa-l/crc.h>

namespace weir {

std::uint32_t crc32c(Bytes bytes, std::uint32_t seed) {
  // ISA-L's crc32_iscsi works on the raw register: inverted here on entry and exit. It takes an int length and a
  // non-const pointer but does not write.
  constexpr std::size_t kMaxStep = 1U << 30;
  std::uint32_t state = ~seed;
  while (!bytes.empty()) {
    std::size_t step = bytes.size() < kMaxStep ? bytes.size() : kMaxStep;
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(step), state);
    bytes = bytes.subspan(step);
  }
  return ~state;
}

}  // namespace weir

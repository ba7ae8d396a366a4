#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <array>

namespace weir {
namespace {

// Remainders are polynomials over GF(2), the coefficient of x^0 in the top bit, modulo Castagnoli's
// of degree 32.
constexpr std::uint32_t kPolynomial = 0x82F63B78;
constexpr std::uint32_t kOne = 1U << 31;
constexpr std::uint32_t kXPow8 = kOne >> 8;

// Without branches: which bits are set is as good as random.
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int i = 0; i < 32; ++i) {
    product ^= b & -(a >> 31);
    a <<= 1;
    b = (b >> 1) ^ (kPolynomial & -(b & 1));  // b times x
  }
  return product;
}

// kPowers[k][n] is x^(8 * n * 256^k): the factor for n * 256^k bytes of zero.
constexpr auto kPowers = [] {
  std::array<std::array<std::uint32_t, 256>, sizeof(std::uint64_t)> powers{};
  std::uint32_t step = kXPow8;
  for (auto& row : powers) {
    row[0] = kOne;
    for (std::size_t n = 1; n < row.size(); ++n) row[n] = multiply(row[n - 1], step);
    step = multiply(row.back(), step);
  }
  return powers;
}();

}  // namespace

std::uint32_t crc32c_raw(Bytes bytes) { return ~crc32c(bytes, ~0U); }

std::uint32_t crc32c_shift(std::uint32_t raw, std::uint64_t zero_bytes) {
  constexpr std::uint64_t kByte = 0xFF;
  for (std::size_t k = 0; zero_bytes != 0; ++k, zero_bytes >>= 8) {
    if ((zero_bytes & kByte) != 0) raw = multiply(raw, kPowers[k][zero_bytes & kByte]);
  }
  return raw;
}

std::uint32_t crc32c(Bytes bytes, std::uint32_t seed) {
  // ISA-L's crc32_iscsi works on the raw register: inverted here on entry and exit. It takes an int
  // length and a non-const pointer but does not write.
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

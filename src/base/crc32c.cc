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

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    // b times x
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

// kPowers[k] is x^(8 * 2^k): the factor for 2^k bytes of zero.
constexpr auto kPowers = [] {
  std::array<std::uint32_t, 64> powers{kXPow8};
  for (std::size_t k = 1; k < powers.size(); ++k) {
    powers[k] = multiply(powers[k - 1], powers[k - 1]);
  }
  return powers;
}();

}  // namespace

std::uint32_t crc32c_raw(Bytes bytes) { return ~crc32c(bytes, ~0U); }

std::uint32_t crc32c_shift(std::uint32_t raw, std::uint64_t zero_bytes) {
  for (std::size_t k = 0; zero_bytes != 0; ++k, zero_bytes >>= 1) {
    if ((zero_bytes & 1) != 0) raw = multiply(raw, kPowers[k]);
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

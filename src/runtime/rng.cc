#include "runtime/rng.h"

#include <random>

namespace weir {

Rng Rng::from_entropy() {
  std::random_device device;
  return Rng((static_cast<std::uint64_t>(device()) << 32) | device());
}

// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t Rng::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace weir

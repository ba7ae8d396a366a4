// The door to chance: jitter, ids and samples come from an Rng, so that a seed replays them. Not
// thread-safe: one per owner.
#pragma once
#include <cstdint>

namespace weir {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  // Seeded by the operating system.
  [[nodiscard]] static Rng from_entropy();

  std::uint64_t next();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace weir

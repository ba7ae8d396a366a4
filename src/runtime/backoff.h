// Delays between retries: exponential with full jitter, between a base and a cap.
#pragma once
#include "base/units.h"
#include "runtime/rng.h"

namespace weir {

class Backoff {
 public:
  Backoff(Duration base, Duration cap) : base_(base), cap_(cap), next_(base) {}

  // Half of the delay is fixed, half is chance.
  Duration next(Rng& rng) {
    Duration delay =
        next_ / 2 + Duration(rng.below(static_cast<std::uint64_t>(next_.count() / 2 + 1)));
    next_ = next_ * 2 < cap_ ? next_ * 2 : cap_;
    return delay;
  }
  void reset() { next_ = base_; }

 private:
  Duration base_;
  Duration cap_;
  Duration next_;
};

}  // namespace weir

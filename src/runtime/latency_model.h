// Log-normal delays with a given median and 99th percentile, the same for the same seed: how a
// remote service answers. Thread-safe.
#pragma once
#include "base/units.h"
#include "runtime/rng.h"

#include <mutex>

namespace weir {

struct LatencyQuantiles {
  Duration p50{};
  Duration p99{};  // not below p50; both zero: no delay
};

class LatencyModel {
 public:
  LatencyModel(LatencyQuantiles quantiles, Rng rng) : quantiles_(quantiles), rng_(rng) {}

  [[nodiscard]] Duration draw();

 private:
  const LatencyQuantiles quantiles_;
  std::mutex mutex_;
  Rng rng_;
};

}  // namespace weir

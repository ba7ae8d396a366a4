#include "runtime/latency_model.h"

#include <cmath>
#include <numbers>

namespace weir {

Duration LatencyModel::draw() {
  if (quantiles_.p50 <= Duration::zero()) return Duration::zero();
  double first = 0;
  double second = 0;
  {
    std::lock_guard lock(mutex_);
    first = 1.0 - rng_.unit();  // in (0, 1]
    second = rng_.unit();
  }
  // Box and Muller's transform.
  const double normal =
      std::sqrt(-2.0 * std::log(first)) * std::cos(2.0 * std::numbers::pi * second);
  constexpr double kNormalAt99 = 2.3263478740408408;
  const auto p50 = static_cast<double>(quantiles_.p50.count());
  const auto p99 = static_cast<double>(quantiles_.p99.count());
  return Duration(std::llround(p50 * std::exp(std::log(p99 / p50) / kNormalAt99 * normal)));
}

}  // namespace weir

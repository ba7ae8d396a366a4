// `dev.latency`: delays that make the embedded backends answer as slowly as remote ones. Pure.
#pragma once
#include "base/error.h"
#include "runtime/latency_model.h"

#include <cstdint>
#include <string_view>

namespace weir::config {

struct LatencyConfig {
  LatencyQuantiles put;
  LatencyQuantiles get;
  LatencyQuantiles append;
  std::uint64_t seed = 1;
};

// "put=100/300,get=60/200,append=10/35,seed=1": the median and the 99th percentile in milliseconds;
// what is not named has no delay. kInvalid names the part that is wrong.
[[nodiscard]] Result<LatencyConfig> parse_latency(std::string_view text);

}  // namespace weir::config

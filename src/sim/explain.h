// Makes a failing run small: the shortest run of the seed in which the same is broken, and the last
// events that touch what was broken, until it was seen.
#pragma once
#include "sim/simulation.h"

namespace weir::sim {

struct Explanation {
  SimulationOptions options;  // of the shortest run
  Violation violation;
  std::vector<std::string> trace;
};

// `failed` is the result of `options`, with a violation. Runs the seed some more times.
[[nodiscard]] Explanation explain(const SimulationOptions& options, const SimulationResult& failed);

}  // namespace weir::sim

#include "sim/simulation.h"

#include "runtime/log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::sim {
namespace {

SimulationResult run(std::uint64_t seed, std::int64_t seconds) {
  log::configure({.level = log::Level::kOff});
  SimulationOptions options;
  options.seed = seed;
  options.seconds = seconds;
  return simulate(options);
}

TEST(SimulationTest, ASeedReplays) {
  const SimulationResult first = run(3, 10);
  const SimulationResult second = run(3, 10);
  EXPECT_EQ(first.hash, second.hash);
  EXPECT_EQ(first.events, second.events);
  EXPECT_NE(run(4, 10).hash, first.hash);
}

TEST(SimulationTest, ClientsGetTheirWorkDone) {
  const SimulationResult result = run(1, 20);
  EXPECT_TRUE(result.violations.empty());
  // Six producers, four partitions, fifteen records a second each.
  EXPECT_EQ(result.acknowledged, 6U * 4 * 15 * 20);
  EXPECT_GE(result.read, result.acknowledged);
}

TEST(SimulationTest, SomeSeeds) {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    for (const Violation& violation : run(seed, 10).violations) {
      ADD_FAILURE() << "seed " << seed << ": " << violation.checker << ": " << violation.what;
    }
  }
}

}  // namespace
}  // namespace weir::sim

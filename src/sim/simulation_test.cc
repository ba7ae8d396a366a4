#include "sim/simulation.h"

#include "runtime/log.h"

#include <gtest/gtest.h>

#include <set>

namespace weir::sim {
namespace {

SimulationOptions options_of(std::uint64_t seed, std::int64_t seconds) {
  log::configure({.level = log::Level::kOff});
  SimulationOptions options;
  options.seed = seed;
  options.seconds = seconds;
  return options;
}

// The hash is of everything that was asked for, answered, written and read, with its bytes.
TEST(SimulationTest, ASeedReplays) {
  for (const bool log_in_store : {false, true}) {
    std::set<std::uint64_t> hashes;
    for (std::uint64_t seed = 3; seed < 7; ++seed) {
      SimulationOptions options = options_of(seed, 5);
      options.log_in_store = log_in_store;
      const SimulationResult first = simulate(options);
      const SimulationResult second = simulate(options);
      EXPECT_EQ(first.hash, second.hash) << seed;
      EXPECT_EQ(first.events, second.events) << seed;
      EXPECT_TRUE(hashes.insert(first.hash).second) << seed;
    }
  }
}

TEST(SimulationTest, ToTraceChangesNothing) {
  SimulationOptions traced = options_of(3, 5);
  traced.trace = "orders/0";
  const SimulationResult result = simulate(traced);
  EXPECT_EQ(result.hash, simulate(options_of(3, 5)).hash);
  EXPECT_FALSE(result.trace.empty());
}

TEST(SimulationTest, ClientsGetTheirWorkDone) {
  const SimulationResult result = simulate(options_of(1, 10));
  EXPECT_TRUE(result.violations.empty());
  // Seven producers that hear of it, two topics of three partitions, eight records a second each.
  EXPECT_EQ(result.acknowledged, 7U * 2 * 3 * 8 * 10);
  EXPECT_GE(result.read, result.acknowledged);
  EXPECT_GT(result.rebalances, 0U);
  EXPECT_GT(result.commits, 0U);
  EXPECT_GT(result.deleted, 0U);
}

TEST(SimulationTest, SomeSeeds) {
  for (std::uint64_t seed = 100; seed < 105; ++seed) {
    for (const Violation& violation : simulate(options_of(seed, 8)).violations) {
      ADD_FAILURE() << "seed " << seed << ": " << violation.checker << ": " << violation.what;
    }
  }
}

TEST(SimulationTest, SomeSeedsOnALogInTheStore) {
  for (std::uint64_t seed = 200; seed < 204; ++seed) {
    SimulationOptions options = options_of(seed, 8);
    options.log_in_store = true;
    for (const Violation& violation : simulate(options).violations) {
      ADD_FAILURE() << "seed " << seed << ": " << violation.checker << ": " << violation.what;
    }
  }
}

// One broker alone cannot fence itself, and nobody takes its groups.
TEST(SimulationTest, ABrokerAlone) {
  SimulationOptions alone = options_of(7, 10);
  alone.brokers = 1;
  EXPECT_TRUE(simulate(alone).violations.empty());
}

}  // namespace
}  // namespace weir::sim

// weir-sim: runs simulations and tells what was broken, and how to see it again.
#include "runtime/clock.h"
#include "runtime/log.h"
#include "sim/simulation.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>

namespace {

int run(const weir::sim::SimulationOptions& first, std::uint64_t last, bool verbose) {
  const weir::SystemClock clock;
  int failed = 0;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (std::uint64_t seed = first.seed; seed <= last; ++seed) {
    weir::sim::SimulationOptions options = first;
    options.seed = seed;
    const weir::MonoTime begin = clock.now();
    const auto result = weir::sim::simulate(options);
    const double took = std::chrono::duration<double>(clock.now() - begin).count();
    if (verbose || !result.violations.empty()) {
      fmt::print(
          "seed {}: {} acknowledged, {} read, {} events, hash {:016x}, {:.0f} s in {:.2f} s\n",
          seed, result.acknowledged, result.read, result.events, result.hash,
          result.virtual_seconds, took);
    }
    for (const auto& violation : result.violations) {
      fmt::print("  {}: {}\n", violation.checker, violation.what);
    }
    if (result.violations.empty()) continue;
    ++failed;
    fmt::print("  again: weir-sim --seed {} --seconds {} --brokers {} --log\n", seed,
               options.seconds, options.brokers);
  }
  fmt::print("{} seeds, {} failed\n", last - first.seed + 1, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  weir::sim::SimulationOptions options;
  std::uint64_t last = 0;
  bool log = false;
  bool verbose = false;
  CLI::App app("Simulates a cluster with faults, and checks what clients see");
  app.add_option("--seed", options.seed, "The seed; the same gives the same run")
      ->capture_default_str();
  app.add_option("--last", last, "Runs all seeds up to this one");
  app.add_option("--brokers", options.brokers, "How many brokers")
      ->check(CLI::Range(1, 9))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "How long there are faults, in virtual time")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_flag("--log", log, "Show what the brokers log");
  app.add_flag("--verbose", verbose, "Tell of every seed");
  CLI11_PARSE(app, argc, argv);
  weir::log::configure({.level = log ? weir::log::Level::kDebug : weir::log::Level::kOff});
  return run(options, std::max(last, options.seed), verbose || last <= options.seed);
}

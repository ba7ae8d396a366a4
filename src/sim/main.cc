// weir-sim: runs simulations and tells what was broken, and how to see it again.
#include "base/planted.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "sim/explain.h"
#include "sim/seed_watch.h"
#include "sim/simulation.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace {

using weir::sim::SimulationOptions;
using weir::sim::SimulationResult;

struct Order {
  SimulationOptions first;
  std::uint64_t last = 0;
  const weir::PlantedBug* planted = nullptr;
  bool verbose = false;
  // Ends at the first seed in which the checker that is for the planted bug names it.
  bool until_found = false;
};

// Of this process, on all cores; what else the machine does is not in it.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Some hundred times what a run takes, and what its explanation takes. It is seldom that one hangs.
weir::Duration most_cpu(const SimulationOptions& options) {
  return std::chrono::seconds(120 + 5 * options.seconds);
}

std::string again(const Order& order, const SimulationOptions& options) {
  std::string text = fmt::format("weir-sim --seed {} --seconds {} --brokers {}", options.seed,
                                 options.seconds, options.brokers);
  if (order.planted != nullptr) text += fmt::format(" --planted {}", order.planted->name);
  if (options.log_in_store) text += " --object";
  return text;
}

// What a crash keeps from being run.
std::string not_run(std::uint64_t seed, std::uint64_t last) {
  if (seed == last) return "";
  return fmt::format("\n  not run: seeds {} to {}", seed + 1, last);
}

void tell(const SimulationResult& result, std::uint64_t seed, double cpu) {
  fmt::print(
      "seed {}: {} acknowledged, {} read, {} rebalances, {} commits of members, {} objects "
      "deleted, {} events, hash {:016x}, {:.0f} s in {:.2f} CPU s\n",
      seed, result.acknowledged, result.read, result.rebalances, result.commits, result.deleted,
      result.events, result.hash, result.virtual_seconds, cpu);
  for (const auto& violation : result.violations)
    fmt::print("  {}: {}\n", violation.checker, violation.what);
}

void explain(const Order& order, const SimulationOptions& options, const SimulationResult& failed) {
  const weir::sim::Explanation shortest = weir::sim::explain(options, failed);
  fmt::print("  shortest run with it: {} s of faults; {}: {}\n", shortest.options.seconds,
             shortest.violation.checker, shortest.violation.what);
  for (const std::string& line : shortest.trace) fmt::print("    {}\n", line);
  fmt::print("  again: {} --log\n", again(order, shortest.options));
}

bool names_it(const SimulationResult& result, const weir::PlantedBug& planted) {
  return std::ranges::any_of(result.violations, [&](const weir::sim::Violation& violation) {
    return violation.checker == planted.found_by;
  });
}

int run(const Order& order) {
  std::uint64_t failed = 0;
  double simulated = 0;
  const double begin = cpu_seconds();
  std::uint64_t seed = order.first.seed;
  for (; seed <= order.last; ++seed) {
    SimulationOptions options = order.first;
    options.seed = seed;
    const double before = cpu_seconds();
    weir::sim::watch_run(again(order, options) + not_run(seed, order.last), most_cpu(options));
    const auto result = weir::sim::simulate(options);
    simulated += result.virtual_seconds;
    for (const std::string& line : result.trace) fmt::print("    {}\n", line);
    const bool is_told = !result.violations.empty() && !order.until_found;
    if (order.verbose || is_told) tell(result, seed, cpu_seconds() - before);
    if (result.violations.empty()) continue;
    ++failed;
    if (!order.until_found) {
      explain(order, options, result);
    } else if (names_it(result, *order.planted)) {
      fmt::print("{}: found at seed {} by \"{}\"\n", order.planted->name, seed,
                 order.planted->found_by);
      return 0;
    }
  }
  if (order.until_found) {
    fmt::print("{}: NOT FOUND by seeds {} to {}, of which {} failed, by \"{}\"\n",
               order.planted->name, order.first.seed, order.last, failed, order.planted->found_by);
    return 1;
  }
  fmt::print("{} seeds, {} failed; {:.0f} times faster than real time on one core\n",
             order.last - order.first.seed + 1, failed, simulated / (cpu_seconds() - begin));
  return failed == 0 ? 0 : 1;
}

int list_planted() {
  for (const weir::PlantedBug& planted : weir::planted_bugs())
    fmt::print("{:32} {}\n", planted.name, planted.what);
  return 0;
}

// Null, and it is said why: it cannot be planted.
const weir::PlantedBug* plant(const std::string& name) {
  for (const weir::PlantedBug& planted : weir::planted_bugs()) {
    if (planted.name != name) continue;
    weir::plant(planted.bug);
    if (weir::can_plant()) return &planted;
    fmt::print(stderr, "weir-sim: this build has no planted bugs; build/planted/weir-sim has\n");
    return nullptr;
  }
  fmt::print(stderr, "weir-sim: no planted bug '{}'; --list-planted names them\n", name);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  // One run needs what the one before gave back, buffers of compression above all.
  constexpr int kMostKept = 1 << 28;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, kMostKept);
  Order order;
  std::string planted;
  bool log = false;
  bool list = false;
  CLI::App app("Simulates a cluster with faults, and checks what clients see");
  SimulationOptions& options = order.first;
  app.add_option("--seed", options.seed, "The seed; the same gives the same run")
      ->capture_default_str();
  app.add_option("--last", order.last, "Runs all seeds up to this one");
  app.add_option("--brokers", options.brokers, "How many brokers")
      ->check(CLI::Range(1, 9))
      ->capture_default_str();
  auto* seconds =
      app.add_option("--seconds", options.seconds, "How long there are faults, in virtual time")
          ->check(CLI::Range(1, 3600))
          ->capture_default_str();
  app.add_option_function<std::int64_t>(
         "--minutes", [&](const std::int64_t& minutes) { options.seconds = 60 * minutes; },
         "The same in minutes")
      ->check(CLI::Range(1, 60))
      ->excludes(seconds);
  auto* plants = app.add_option("--planted", planted, "Plants a bug (in a build that has them)");
  app.add_flag(
         "--until-found", order.until_found,
         "Ends at the first seed in which the checker that is for the bug names it, and fails "
         "when there is none")
      ->needs(plants);
  app.add_flag("--list-planted", list, "Names the bugs that can be planted");
  app.add_flag("--object", options.log_in_store, "The metadata log lies in the object store");
  app.add_option("--trace", options.trace,
                 "Tells all events that touch a partition (orders/0), a group or an object");
  app.add_flag("--log", log, "Show what the brokers log");
  app.add_flag("--verbose", order.verbose, "Tell of every seed");
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (list) return list_planted();
  if (!planted.empty()) order.planted = plant(planted);
  if (!planted.empty() && order.planted == nullptr) return 2;
  weir::log::configure({.level = log ? weir::log::Level::kDebug : weir::log::Level::kOff});
  order.verbose |= order.last <= options.seed && !order.until_found;
  order.last = std::max(order.last, options.seed);
  return run(order);
}

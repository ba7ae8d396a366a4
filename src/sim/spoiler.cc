#include "sim/spoiler.h"

#include <fmt/format.h>

namespace weir::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

std::int64_t draw_error(Rng& rng, Duration most_error) {
  const std::int64_t most = std::chrono::duration_cast<milliseconds>(most_error).count();
  return static_cast<std::int64_t>(rng.below(2 * static_cast<std::uint64_t>(most))) - most;
}

}  // namespace

void Spoiler::start() {
  tasks_.spawn(nature_.executor(), kill_nodes());
  tasks_.spawn(nature_.executor(), pause_nodes());
  tasks_.spawn(nature_.executor(), break_services());
  tasks_.spawn(nature_.executor(), cut_ways());
  tasks_.spawn(nature_.executor(), move_clocks());
  tasks_.spawn(nature_.executor(), move_clocks_far());
  if (snapshots_ != nullptr) tasks_.spawn(nature_.executor(), damage_snapshots());
}

Task<bool> Spoiler::wait(Duration mean) {
  if (mean == Duration::zero()) co_return false;
  co_return co_await tasks_.sleep(nature_.clock(), draw_interval(rng_, mean));
}

Task<void> Spoiler::kill_nodes() {
  while (co_await wait(weather_.faults.kills)) {
    SimNode& node = any_node();
    if (rng_.below(4) == 0) {
      node.stop();
    } else {
      node.kill();
    }
    // Now and then it is away for longer than its session.
    const std::uint64_t most = rng_.below(3) == 0 ? 20'000 : 2000;
    co_await tasks_.sleep(nature_.clock(), milliseconds(rng_.below(most)));
    if (!node.process()) node.start();
  }
}

Task<void> Spoiler::pause_nodes() {
  while (co_await wait(weather_.faults.pauses)) {
    SimNode& node = any_node();
    world_.note("pause");
    world_.tell("", [&] { return fmt::format("broker {} stands still", node.id()); });
    node.machine().pause();
    co_await tasks_.sleep(nature_.clock(), draw_interval(rng_, weather_.faults.pause / 3));
    node.machine().resume();
    world_.tell("", [&] { return fmt::format("broker {} goes on", node.id()); });
  }
}

Task<void> Spoiler::break_services() {
  while (co_await wait(weather_.faults.outages)) {
    const bool is_store = rng_.below(2) == 0;
    bool& down = is_store ? weather_.store_down : weather_.log_down;
    world_.note("outage");
    world_.tell("", [&] { return is_store ? "the store is down" : "the log is down"; });
    down = true;
    co_await tasks_.sleep(nature_.clock(), draw_interval(rng_, weather_.faults.outage));
    down = false;
    world_.tell("", [&] { return is_store ? "the store is up" : "the log is up"; });
  }
}

Task<void> Spoiler::cut_ways() {
  while (co_await wait(weather_.faults.cuts)) {
    const BrokerId broker = any_node().id();
    // Half of the time from the log: that is where most depends on time.
    const std::uint64_t way = rng_.below(4);
    weather_.cuts[broker] = {.store = way == 0, .log = way > 1, .clients = way == 1};
    world_.note("cut", way);
    world_.tell("", [&] {
      const char* from = way == 0 ? "store" : way == 1 ? "clients" : "log";
      return fmt::format("broker {} is cut off from the {}", broker, from);
    });
    co_await tasks_.sleep(nature_.clock(), draw_interval(rng_, weather_.faults.cut));
    weather_.cuts.erase(broker);
    world_.tell("", [&] { return fmt::format("broker {} reaches all again", broker); });
  }
}

Task<void> Spoiler::damage_snapshots() {
  while (co_await wait(weather_.faults.snapshot_damage)) co_await snapshots_->damage_latest();
}

Task<void> Spoiler::move_clocks() {
  while (co_await wait(weather_.faults.clock_jumps)) {
    any_node().machine().clock().set_error(draw_error(rng_, kMostClockError));
  }
}

Task<void> Spoiler::move_clocks_far() {
  while (co_await wait(weather_.faults.far_clock_jumps)) {
    SimNode& node = any_node();
    const std::int64_t error = draw_error(rng_, kFarClockError);
    world_.note("far clock", static_cast<std::uint64_t>(error));
    world_.tell("", [&] { return fmt::format("broker {}: clock {} ms off", node.id(), error); });
    weather_.had_far_clocks = true;
    node.machine().clock().set_error(error);
    co_await tasks_.sleep(nature_.clock(), draw_interval(rng_, seconds(5)));
    node.machine().clock().set_error(draw_error(rng_, kMostClockError));
  }
}

}  // namespace weir::sim

#include "sim/simulation.h"

#include "sim/clients.h"
#include "storage/memory_store.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// After the faults, by virtual time: a fenced broker needs its session, a retry its pause.
constexpr Duration kHealing = std::chrono::minutes(3);
// Of one producer to one partition.
constexpr std::uint64_t kRecordsPerSecond = 15;

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  SimulationResult run();

 private:
  void add_clients();
  bool begin();
  void spoil();
  void heal();
  void read_everything();
  void end();

  Task<void> kill_nodes();
  Task<void> pause_nodes();
  Task<void> break_services();
  Task<void> move_clocks();
  Task<void> look_at_states();
  SimNode& any_node() { return *nodes_[rng_.below(nodes_.size())]; }
  std::vector<std::string> settings();

  SimulationOptions options_;
  World world_;
  Rng rng_;
  Weather weather_;
  Machine& nature_;
  History history_;
  storage::MemoryStore store_;
  metadata::MemoryLog log_;
  TaskGroup late_;
  TaskGroup faults_;
  TaskGroup watching_;
  ClientParts parts_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<std::unique_ptr<Producer>> producers_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
};

Simulation::Simulation(const SimulationOptions& options)
    : options_(options),
      world_(options.seed),
      rng_(world_.fork()),
      weather_{.faults = no_faults()},
      nature_(world_.add_machine()),
      store_(nature_.clock()),
      log_(nature_.clock()),
      parts_{.world = world_,
             .weather = weather_,
             .nodes = {},
             .history = history_,
             .topic = "orders",
             .partitions = options.partitions} {
  const Outside outside{.world = world_,
                        .weather = weather_,
                        .store = store_,
                        .log = {.log = log_, .network = nature_, .late = late_}};
  const std::vector<std::string> sets = settings();
  for (int i = 1; i <= options.brokers; ++i) {
    nodes_.push_back(std::make_unique<SimNode>(outside, i, sets));
    parts_.nodes.push_back(nodes_.back().get());
  }
}

// Small limits now and then, so that rare paths run often.
std::vector<std::string> Simulation::settings() {
  std::vector<std::string> sets{
      "object.store.url=memory:", "metadata.log.url=memory:", "group.initial.rebalance.delay.ms=0"};
  const auto set = [&](const char* key, std::uint64_t value) {
    sets.push_back(fmt::format("{}={}", key, value));
  };
  set("diskless.append.commit.interval.ms", 10 + rng_.below(250));
  if (rng_.below(2) == 0) set("diskless.append.buffer.max.bytes", 1024 + rng_.below(4096));
  set("diskless.append.upload.max.inflight", 1 + rng_.below(8));
  set("metadata.log.max.entries.between.snapshots", 20 + rng_.below(500));
  set("cache.max.bytes", rng_.below(2) == 0 ? rng_.below(5000) : 1 << 20);
  set("broker.session.timeout.ms", 3000 + rng_.below(9000));
  set("broker.heartbeat.interval.ms", 200 + rng_.below(800));
  set("object.delete.grace.ms", 30'000);
  return sets;
}

bool Simulation::begin() {
  for (auto& node : nodes_) node->start();
  TaskGroup creating;
  creating.spawn(nature_.executor(), create_topic(parts_, nature_, creating));
  const bool created = world_.run_until([&] { return creating.running() == 0; }, kHealing);
  if (!created) {
    history_.violate("liveness", "the topic was not created");
    creating.stop();
    world_.run_until([&] { return creating.running() == 0; }, kHealing);
  }
  return created;
}

void Simulation::add_clients() {
  const auto records = static_cast<std::uint64_t>(options_.seconds) * kRecordsPerSecond;
  int number = 0;
  for (int i = 0; i < options_.idempotent_producers + options_.plain_producers; ++i) {
    producers_.push_back(
        std::make_unique<Producer>(parts_, number++, i < options_.idempotent_producers, records));
  }
  for (int i = 0; i < options_.consumers; ++i) {
    consumers_.push_back(std::make_unique<Consumer>(parts_, i));
  }
  for (auto& producer : producers_) producer->start();
  for (auto& consumer : consumers_) consumer->start();
}

void Simulation::spoil() {
  weather_.faults = draw_faults(rng_);
  faults_.spawn(nature_.executor(), kill_nodes());
  faults_.spawn(nature_.executor(), pause_nodes());
  faults_.spawn(nature_.executor(), break_services());
  faults_.spawn(nature_.executor(), move_clocks());
  watching_.spawn(nature_.executor(), look_at_states());
  world_.run_until([] { return false; }, seconds(options_.seconds));
  faults_.stop();
  world_.run_until([&] { return faults_.running() == 0; }, kHealing);
}

Task<void> Simulation::kill_nodes() {
  const Duration mean = weather_.faults.kills;
  while (mean > Duration::zero() &&
         co_await faults_.sleep(nature_.clock(), draw_interval(rng_, mean))) {
    SimNode& node = any_node();
    if (rng_.below(4) == 0) {
      node.stop();
    } else {
      node.kill();
    }
    co_await faults_.sleep(nature_.clock(), milliseconds(rng_.below(3000)));
    if (!node.process()) node.start();
  }
}

Task<void> Simulation::pause_nodes() {
  const Duration mean = weather_.faults.pauses;
  while (mean > Duration::zero() &&
         co_await faults_.sleep(nature_.clock(), draw_interval(rng_, mean))) {
    Machine& machine = any_node().machine();
    world_.note("pause");
    machine.pause();
    co_await faults_.sleep(nature_.clock(), draw_interval(rng_, weather_.faults.pause / 3));
    machine.resume();
  }
}

Task<void> Simulation::break_services() {
  const Duration mean = weather_.faults.outages;
  while (mean > Duration::zero() &&
         co_await faults_.sleep(nature_.clock(), draw_interval(rng_, mean))) {
    bool& down = rng_.below(2) == 0 ? weather_.store_down : weather_.log_down;
    world_.note("outage");
    down = true;
    co_await faults_.sleep(nature_.clock(), draw_interval(rng_, weather_.faults.outage));
    down = false;
  }
}

Task<void> Simulation::move_clocks() {
  const Duration mean = weather_.faults.clock_jumps;
  while (mean > Duration::zero() &&
         co_await faults_.sleep(nature_.clock(), draw_interval(rng_, mean))) {
    any_node().machine().clock().jump(static_cast<std::int64_t>(rng_.below(20'000)) - 10'000);
  }
}

Task<void> Simulation::look_at_states() {
  while (co_await watching_.sleep(nature_.clock(), milliseconds(100))) {
    for (auto& node : nodes_) {
      auto process = node->process();
      if (!process || !process->ready() || node->machine().paused()) continue;
      const auto stat = co_await process->coordinator().stat();
      history_.tell([&](Checker& checker) { checker.on_state(stat.position, stat.state_hash); });
    }
  }
}

void Simulation::heal() {
  weather_ = {.faults = no_faults()};
  for (auto& node : nodes_) {
    node->machine().resume();
    if (node->process() && node->process()->failure()) node->stop();
    if (!node->process()) node->start();
  }
  world_.run_until(
      [&] {
        return std::ranges::all_of(producers_, [](auto& producer) { return producer->done(); }) &&
               std::ranges::all_of(
                   nodes_, [](auto& node) { return node->process() && node->process()->ready(); });
      },
      kHealing + seconds(options_.seconds));
  for (auto& producer : producers_) {
    if (producer->done()) continue;
    history_.violate("liveness", "a producer is not done after the faults: " + producer->trouble());
  }
  for (auto& node : nodes_) {
    if (node->process() && node->process()->ready()) continue;
    history_.violate("liveness",
                     fmt::format("node {} is not ready after the faults: {}", node->id(),
                                 node->process() && node->process()->failure()
                                     ? node->process()->failure()->to_string()
                                     : "no reason"));
  }
}

void Simulation::read_everything() {
  for (auto& consumer : consumers_) consumer->stop();
  world_.run_until(
      [&] { return std::ranges::all_of(consumers_, [](auto& one) { return one->done(); }); },
      kHealing);
  Consumer last(parts_, 1000);
  last.start_last_reading();
  if (!world_.run_until([&] { return last.done(); }, kHealing)) {
    history_.violate("liveness", "not everything can be read after the faults");
    last.stop();
    world_.run_until([&] { return last.done(); }, kHealing);
  }
  history_.tell([](Checker& checker) { checker.on_end(); });
}

void Simulation::end() {
  for (auto& producer : producers_) producer->stop();
  watching_.stop();
  world_.run_until([&] { return watching_.running() == 0; }, kHealing);
  for (auto& node : nodes_) node->stop();
  late_.stop();
  const bool ended = world_.run_until(
      [&] {
        return late_.running() == 0 &&
               std::ranges::all_of(nodes_, [](auto& node) { return node->quiet(); }) &&
               std::ranges::all_of(producers_, [](auto& producer) { return producer->ended(); });
      },
      kHealing);
  if (!ended) {
    // Nothing can be destroyed while it runs.
    fmt::print(stderr, "seed {}: the simulation does not end: {} late appends run\n", options_.seed,
               late_.running());
    for (auto& node : nodes_) {
      fmt::print(stderr, "  node {}: {}\n", node->id(), node->state());
    }
    for (auto& producer : producers_) {
      if (!producer->ended()) fmt::print(stderr, "  a producer: {}\n", producer->trouble());
    }
    std::abort();
  }
}

SimulationResult Simulation::run() {
  if (begin()) {
    add_clients();
    spoil();
    heal();
    read_everything();
  }
  end();
  return {
      .violations = history_.violations(),
      .hash = world_.hash(),
      .events = world_.events(),
      .acknowledged = history_.acknowledged,
      .read = history_.read,
      .virtual_seconds = std::chrono::duration<double>(world_.now().time_since_epoch()).count()};
}

}  // namespace

SimulationResult simulate(const SimulationOptions& options) { return Simulation(options).run(); }

}  // namespace weir::sim

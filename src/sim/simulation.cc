#include "sim/simulation.h"

#include "sim/cluster_run.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kStarting = std::chrono::minutes(3);
// Of one producer to one partition.
constexpr std::uint64_t kRecordsPerSecond = 8;

}  // namespace

ClusterRun::ClusterRun(const SimulationOptions& options)
    : options_(options),
      world_(options.seed),
      rng_(world_.fork()),
      weather_{.faults = no_faults(), .cuts = {}},
      nature_(world_.add_machine()),
      settings_(draw_settings(rng_)),
      history_(world_, settings_.witness.offsets_retention),
      store_(nature_.clock()),
      log_(nature_.clock()),
      witness_(world_, weather_, history_, store_, settings_.witness),
      parts_{.world = world_,
             .weather = weather_,
             .nodes = {},
             .history = history_,
             .partitions = {}} {
  if (options.trace) world_.trace(*options.trace);
  for (std::int32_t topic : {kOrders, kEvents}) {
    for (PartitionIndex i = 0; i < options.partitions; ++i) parts_.partitions.push_back({topic, i});
  }
  add_nodes(settings_);
}

void ClusterRun::add_nodes(const NodeSettings& settings) {
  const Outside outside{.world = world_,
                        .weather = weather_,
                        .nature = nature_,
                        .late = late_,
                        .store = store_,
                        .log = log_,
                        .witness = witness_,
                        .nodes = parts_.nodes,
                        .log_in_store = options_.log_in_store};
  for (int i = 1; i <= options_.brokers; ++i) {
    const double rate = 1 + settings.clock_drift * (2 * rng_.unit() - 1);
    nodes_.push_back(std::make_unique<SimNode>(outside, i, settings.sets, settings.limits, rate));
    if (settings.short_retention) nodes_.back()->machine().clock().set_error(0);
    parts_.nodes.push_back(nodes_.back().get());
  }
  if (!options_.log_in_store)
    snapshots_.emplace(world_, store_, log_, witness_, nature_.executor());
  spoiler_.emplace(world_, weather_, nature_, parts_.nodes, snapshots_ ? &*snapshots_ : nullptr);
}

void ClusterRun::stuck(const std::string& subject, const std::string& what) {
  history_.tell([&](Checker& checker) { checker.on_stuck(subject, what); });
}

bool ClusterRun::begin() {
  for (auto& node : nodes_) node->start();
  for (std::int32_t topic : {kOrders, kEvents}) {
    creating_.spawn(nature_.executor(), create_topic(parts_, topic_name(topic), options_.partitions,
                                                     nature_, creating_));
  }
  const bool created = wait_for(kStarting, [&] { return creating_.running() == 0; });
  if (!created) {
    stuck("topics", "they were not created");
    creating_.stop();
    wait_for(kStarting, [&] { return creating_.running() == 0; });
  }
  return created;
}

void ClusterRun::add_clients() {
  const auto records = static_cast<std::uint64_t>(options_.seconds) * kRecordsPerSecond;
  int number = 0;
  const auto add_producers = [&](int count, ProducerKind kind) {
    for (int i = 0; i < count; ++i)
      producers_.push_back(std::make_unique<Producer>(parts_, number++, kind, records));
  };
  add_producers(options_.idempotent_producers, ProducerKind::kIdempotent);
  add_producers(options_.plain_producers, ProducerKind::kPlain);
  add_producers(options_.silent_producers, ProducerKind::kSilent);
  for (int i = 0; i < options_.consumers; ++i) {
    consumers_.push_back(std::make_unique<Consumer>(parts_, i));
  }
  add_groups();
  for (int i = 0; i < options_.admins; ++i) admins_.push_back(std::make_unique<Admin>(parts_, i));
  for (auto& producer : producers_) producer->start();
  for (auto& consumer : consumers_) consumer->start();
  for (auto& member : members_) member->start();
  for (auto& client : seldom_) client->start();
  for (auto& admin : admins_) admin->start();
}

void ClusterRun::add_groups() {
  for (int i = 0; i < options_.groups * options_.members; ++i) {
    const std::string group = fmt::format("team-{}", i / options_.members);
    if (i % options_.members == 0) groups_.push_back(group);
    members_.push_back(std::make_unique<GroupMember>(parts_, group, i % options_.members));
  }
  if (settings_.short_retention) {
    seldom_.push_back(std::make_unique<SeldomClient>(parts_, 0, *settings_.short_retention,
                                                     settings_.expiry_interval));
  }
}

void ClusterRun::spoil() {
  weather_.faults = draw_faults(rng_);
  if (settings_.short_retention) {
    weather_.faults.clock_jumps = {};
    weather_.faults.far_clock_jumps = {};
  }
  const CallFaults& get = weather_.faults.get;
  weather_.had_damage = get.damaged > 0 || get.cut_short > 0;
  weather_.had_faults = true;
  spoiler_->start();
  watching_.spawn(nature_.executor(), look_at_states());
  if (snapshots_) watching_.spawn(nature_.executor(), look_at_snapshots());
  world_.run_until([] { return false; }, seconds(options_.seconds));
  spoiler_->stop();
  wait_for(kStarting, [&] { return spoiler_->done(); });
}

Task<void> ClusterRun::look_at_states() {
  // What was looked at is not hashed again.
  std::map<std::weak_ptr<SimProcess>, metadata::Position, std::owner_less<>> looked_at;
  while (co_await watching_.sleep(nature_.clock(), milliseconds(100))) {
    for (auto& node : nodes_) {
      auto process = node->process();
      if (!process || !process->ready() || node->machine().paused()) continue;
      metadata::Position& last = looked_at[process];
      if (process->coordinator().applied() == last) continue;
      const auto stat = co_await process->coordinator().stat();
      last = stat.position;
      history_.tell([&](Checker& checker) { checker.on_state(stat.position, stat.state_hash); });
    }
    look_at_memory(false);
  }
}

Task<void> ClusterRun::look_at_snapshots() {
  while (co_await watching_.sleep(nature_.clock(), seconds(2))) {
    const std::string trouble = co_await snapshots_->trouble();
    if (trouble.empty()) continue;
    history_.tell([&](Checker& checker) { checker.on_snapshot_lost(trouble); });
  }
}

std::vector<Violation> ClusterRun::violations() const {
  std::vector<Violation> all = history_.violations();
  if (after_) {
    const std::vector<Violation> more = after_->violations();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

SimulationResult ClusterRun::run() {
  if (begin()) {
    add_clients();
    spoil();
    heal();
    wake_waiting_fetches();
    stop_clients();
    restart_nodes();
    read_everything();
    judge_objects();
    restore_log();
  }
  has_ended_ = end();
  SimulationResult result{
      .violations = violations(),
      .hash = world_.hash(),
      .events = world_.events(),
      .acknowledged = history_.acknowledged,
      .read = history_.read,
      .deleted = history_.deleted,
      .commits = history_.commits,
      .rebalances = history_.rebalances,
      .virtual_seconds = std::chrono::duration<double>(world_.now().time_since_epoch()).count(),
      .violated_at = {},
      .trace = {world_.traced().begin(), world_.traced().end()}};
  if (auto at = world_.first_wrong())
    result.violated_at = std::chrono::duration<double>(at->time_since_epoch()).count();
  return result;
}

SimulationResult simulate(const SimulationOptions& options) {
  SimulationResult result;
  // Within a function that Asio runs: so it keeps memory of tasks for the next ones.
  boost::asio::io_context memory;
  boost::asio::post(memory, [&] {
    auto run = std::make_unique<ClusterRun>(options);
    result = run->run();
    if (!run->has_ended()) std::ignore = run.release();
  });
  memory.run();
  return result;
}

}  // namespace weir::sim

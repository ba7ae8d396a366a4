// What happens when the faults are over: everything must become well, and is looked at.
#include "sim/cluster_run.h"
#include "sim/probe.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

using std::chrono::seconds;

// By virtual time: a fenced broker needs its session, a retry its pause.
constexpr Duration kHealing = std::chrono::minutes(3);

// Of a node that is not ready. Between two processes it has none.
std::string trouble_of(const SimNode& node) {
  const auto process = node.process();
  return process && process->failure() ? process->failure()->to_string() : node.state();
}

}  // namespace

bool ClusterRun::are_nodes_ready() const {
  return std::ranges::all_of(
      nodes_, [](const auto& node) { return node->process() && node->process()->ready(); });
}

bool ClusterRun::has_read_all(const std::string& group) const {
  return std::ranges::all_of(partitions_of(parts_.partitions, kOrders), [&](const Where& where) {
    return witness_.committed(group, where) == witness_.high_watermark(where);
  });
}

// As whatever looks after processes does when one has ended because it can never serve again: a
// registration of an older process may have come late and taken its place. What may start anew does
// so by itself.
void ClusterRun::restart_failed() {
  for (auto& node : nodes_) {
    const auto process = node->process();
    const auto failure = process ? process->failure() : std::nullopt;
    if (failure && !metadata::may_start_anew(*failure)) node->stop();
    if (!node->is_wanted()) node->start();
  }
}

void ClusterRun::calm_weather() {
  weather_ = {.faults = no_faults(),
              .cuts = {},
              .had_damage = weather_.had_damage,
              .had_far_clocks = weather_.had_far_clocks,
              .had_faults = weather_.had_faults};
  for (auto& node : nodes_) node->machine().resume();
}

void ClusterRun::heal() {
  calm_weather();
  MonoTime next_look = world_.now();
  for (auto& member : members_) member->calm_down();
  for (auto& admin : admins_) admin->stop();
  // A log in the store takes some thirty entries a second. Where few commands fit into one, clients
  // that commit now and then, and the expiry of what they committed, leave producers little of it.
  const Duration patience = options_.log_in_store ? 2 * kHealing : kHealing;
  const bool is_well = wait_for(patience + seconds(options_.seconds), [&] {
    if (world_.now() >= next_look) {
      restart_failed();
      next_look = world_.now() + seconds(1);
    }
    return are_nodes_ready() &&
           std::ranges::all_of(producers_, [](auto& producer) { return producer->done(); }) &&
           std::ranges::all_of(groups_, [&](auto& group) { return has_read_all(group); });
  });
  if (!is_well) report_unwell();
}

void ClusterRun::report_unwell() {
  for (auto& producer : producers_) {
    if (producer->done()) continue;
    stuck(to_string(producer->troubled()),
          "a producer is not done after the faults: " + producer->trouble());
  }
  for (auto& node : nodes_) {
    if (node->process() && node->process()->ready()) continue;
    stuck("",
          fmt::format("node {} is not ready after the faults: {}", node->id(), trouble_of(*node)));
  }
  for (const std::string& group : groups_) {
    if (has_read_all(group)) continue;
    std::string doing;
    for (auto& member : members_) doing += " " + member->doing();
    stuck(group,
          fmt::format("{} has not read everything after the faults; members:{}", group, doing));
  }
}

void ClusterRun::wake_waiting_fetches() {
  if (!are_nodes_ready()) return;
  for (auto& producer : producers_) producer->stop();
  probe_.emplace(parts_);
  probe_->start();
  if (!wait_for(kHealing, [&] { return probe_->done(); }))
    stuck("orders/0", "the probe is not done");
}

void ClusterRun::stop_clients() {
  for (auto& producer : producers_) producer->stop();
  for (auto& consumer : consumers_) consumer->stop();
  for (auto& member : members_) member->stop();
  for (auto& client : seldom_) client->stop();
  for (auto& admin : admins_) admin->stop();
  const bool ended = wait_for(kHealing, [&] {
    return std::ranges::all_of(consumers_, [](auto& one) { return one->done(); }) &&
           std::ranges::all_of(members_, [](auto& one) { return one->done(); }) &&
           std::ranges::all_of(seldom_, [](auto& one) { return one->done(); }) &&
           std::ranges::all_of(admins_, [](auto& one) { return one->done(); });
  });
  if (!ended) stuck("", "a client does not end");
  // Connections are closed, and what they waited for is over.
  world_.run_until([] { return false; }, seconds(15));
  weather_.had_faults = false;
  look_at_memory(true);
}

void ClusterRun::look_at_memory(bool is_idle) {
  for (auto& node : nodes_) {
    if (!node->process() || !node->process()->ready()) continue;
    for (const MemoryUse& use : node->process()->memory(is_idle))
      history_.tell([&](Checker& checker) { checker.on_memory(use); });
  }
}

// One after the other, so that snapshots are loaded and groups change hands.
void ClusterRun::restart_nodes() {
  for (auto& node : nodes_) {
    node->stop();
    wait_for(kHealing, [&] { return node->quiet(); });
    node->start();
    const bool is_ready =
        wait_for(kHealing, [&] { return node->process() && node->process()->ready(); });
    if (!is_ready) {
      stuck("",
            fmt::format("node {} is not ready after a restart: {}", node->id(), trouble_of(*node)));
    }
  }
}

void ClusterRun::read_everything() {
  Consumer& last = *consumers_.emplace_back(std::make_unique<Consumer>(parts_, 1000));
  std::vector<std::string> groups = groups_;
  for (auto& consumer : consumers_) {
    if (consumer.get() != &last) groups.push_back(consumer->group_id());
  }
  history_.tell([](Checker& checker) { checker.on_last_reading(); });
  last.start_last_reading(std::move(groups));
  // The longer the run, the more there is.
  if (!wait_for(kHealing + seconds(options_.seconds), [&] { return last.done(); })) {
    stuck("", "not everything can be read after the faults");
    last.stop();
    wait_for(kHealing, [&] { return last.done(); });
  }
  history_.tell([](Checker& checker) { checker.on_end(); });
}

void ClusterRun::judge_objects() {
  const WitnessOptions& options = settings_.witness;
  constexpr Duration kSweep = std::chrono::minutes(1);
  world_.run_until([] { return false; }, std::max(options.orphan_grace, options.delete_grace) +
                                             2 * options.clock_error + kSweep);
  watching_.stop();
  wait_for(kHealing, [&] { return watching_.running() == 0; });
  judging_.spawn(nature_.executor(), witness_.judge_end());
  wait_for(kHealing, [&] { return judging_.running() == 0; });
}

bool ClusterRun::end() {
  watching_.stop();
  wait_for(kHealing, [&] { return watching_.running() == 0; });
  for (auto& node : nodes_) node->stop();
  late_.stop();
  if (probe_) probe_->stop();
  for (auto& producer : producers_) producer->stop();
  for (auto& consumer : consumers_) consumer->stop();
  for (auto& admin : admins_) admin->stop();
  const bool ended = wait_for(kHealing, [&] {
    const auto is_done = [](const auto& client) { return client->done(); };
    return late_.running() + judging_.running() + watching_.running() + noticing_.running() == 0 &&
           (!probe_ || probe_->done()) && std::ranges::all_of(consumers_, is_done) &&
           std::ranges::all_of(members_, is_done) && std::ranges::all_of(seldom_, is_done) &&
           std::ranges::all_of(admins_, is_done) &&
           std::ranges::all_of(nodes_, [](auto& node) { return node->quiet(); }) &&
           std::ranges::all_of(producers_, [](auto& producer) { return producer->ended(); });
  });
  for (auto& node : nodes_) {
    if (!node->quiet())
      stuck("", fmt::format("node {} does not end: {}", node->id(), node->state()));
  }
  for (auto& producer : producers_) {
    if (!producer->ended()) stuck("", "a producer does not end: " + producer->trouble());
  }
  if (!ended) stuck("", "the run does not end");
  return ended;
}

}  // namespace weir::sim

// The log is put back to an older state under running brokers and clients, as by a failover to a
// copy that lacks the last entries.
#include "sim/cluster_run.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

using std::chrono::seconds;

constexpr Duration kHealing = std::chrono::minutes(3);
// Numbers that no other client has.
constexpr int kLostProducer = 400;
constexpr int kLaterProducer = 500;
constexpr int kLater = 2000;

}  // namespace

// What a copy lacks must be younger than the grace period of objects, by clocks that are right, and
// no snapshot may have come since (docs/operate/cluster.md).
void ClusterRun::restore_log() {
  constexpr std::uint64_t kSeldom = 3;
  if (rng_.below(kSeldom) != 0 || !are_nodes_ready() || options_.log_in_store) return;
  for (auto& node : nodes_) node->machine().clock().set_error(0);
  world_.run_until([] { return false; }, seconds(15));
  metadata::MemoryLog::Image backup = log_.image();
  const auto tail = backup.trimmed + static_cast<metadata::Position>(backup.entries.size());
  if (witness_.position() != tail) return;
  lost_.emplace(world_, settings_.witness.offsets_retention);
  start_lost_clients();
  const bool is_stormy = rng_.below(2) == 0;
  if (is_stormy) begin_storm();
  const Duration most = settings_.witness.delete_grace / 2;
  world_.run_until([] { return false; },
                   std::min<Duration>(
                       Duration(rng_.below(static_cast<std::uint64_t>(most.count()))), seconds(5)));
  if (log_.image().snapshot.position == backup.snapshot.position && witness_.position() > tail) {
    put_back(std::move(backup), tail);
  }
  if (is_stormy) end_storm();
  if (after_) wait_until_noticed(is_stormy);
  stop_lost_clients();
  if (!after_) return;
  if (is_stormy) {
    // What was asked for in the storm is answered by then.
    world_.run_until([] { return false; }, seconds(15));
    weather_.had_faults = false;
  }
  work_on();
  judge_objects();
}

// Faults of all kinds before and after the log goes back; the clocks stay right, and the snapshots
// whole.
void ClusterRun::begin_storm() {
  weather_.faults = draw_faults(rng_);
  weather_.faults.clock_jumps = {};
  weather_.faults.far_clock_jumps = {};
  const CallFaults& get = weather_.faults.get;
  weather_.had_damage |= get.damaged > 0 || get.cut_short > 0;
  weather_.had_faults = true;
  spoiler_.emplace(world_, weather_, nature_, parts_.nodes, nullptr);
  spoiler_->start();
}

void ClusterRun::end_storm() {
  constexpr std::uint64_t kMostMs = 10'000;
  if (after_)
    world_.run_until([] { return false; }, std::chrono::milliseconds(rng_.below(kMostMs)));
  spoiler_->stop();
  wait_for(kHealing, [&] { return spoiler_->done(); });
  calm_weather();
}

// They see what will be lost, and have to do with brokers that find out.
void ClusterRun::start_lost_clients() {
  ClientParts parts{.world = world_,
                    .weather = weather_,
                    .nodes = parts_.nodes,
                    .history = *lost_,
                    .partitions = parts_.partitions};
  constexpr std::uint64_t kRecords = 10'000;
  for (int i = 0; i < 2; ++i) {
    producers_.push_back(
        std::make_unique<Producer>(parts, kLostProducer + i, ProducerKind::kPlain, kRecords));
    producers_.back()->start();
    consumers_.push_back(std::make_unique<Consumer>(parts, kLostProducer + i));
    consumers_.back()->start();
    admins_.push_back(std::make_unique<Admin>(parts, kLostProducer + i));
    admins_.back()->start();
  }
}

void ClusterRun::stop_lost_clients() {
  for (auto& producer : producers_) producer->stop();
  for (auto& consumer : consumers_) consumer->stop();
  for (auto& admin : admins_) admin->stop();
  const bool ended = wait_for(kHealing, [&] {
    return std::ranges::all_of(producers_, [](auto& one) { return one->ended(); }) &&
           std::ranges::all_of(consumers_, [](auto& one) { return one->done(); }) &&
           std::ranges::all_of(admins_, [](auto& one) { return one->done(); });
  });
  if (!ended) stuck("", "a client does not end after the log went back");
}

void ClusterRun::put_back(metadata::MemoryLog::Image backup, metadata::Position tail) {
  for (auto& node : nodes_) {
    if (node->process() && node->process()->coordinator().applied() > tail)
      ahead_[node->id()] = node->process();
  }
  world_.tell("", [&] { return fmt::format("the log returns to position {}", tail); });
  after_.emplace(world_, settings_.witness.offsets_retention);
  witness_.begin_anew(tail, *after_);
  log_.restore(std::move(backup));
  // One that starts anew takes the log as it is, and appends other entries to it.
  if (options_.brokers > 1 && rng_.below(2) == 0) {
    ahead_.erase(nodes_.front()->id());
    nodes_.front()->kill();
    nodes_.front()->start();
  }
}

// Brokers that have seen what is lost notice, and come back by themselves.
void ClusterRun::wait_until_noticed(bool is_helped) {
  noticing_.spawn(nature_.executor(), look_who_noticed());
  MonoTime next_look = world_.now();
  const bool is_well = wait_for(kHealing, [&] {
    if (is_helped && world_.now() >= next_look) {
      restart_failed();
      next_look = world_.now() + seconds(1);
    }
    return ahead_.empty() && are_nodes_ready();
  });
  noticing_.stop();
  wait_for(kHealing, [&] { return noticing_.running() == 0; });
  if (!is_well) report_unnoticed();
}

// Another process runs in its place; or it has the state of the log as it is, as one that was cut
// off until it had to load a snapshot of the new history.
Task<void> ClusterRun::look_who_noticed() {
  do {
    for (auto& node : nodes_) {
      const auto old = ahead_.find(node->id());
      const auto process = node->process();
      if (old == ahead_.end() || !process) continue;
      bool has_noticed = process != old->second.lock();
      if (!has_noticed && process->ready()) {
        const auto stat = co_await process->coordinator().stat();
        has_noticed =
            stat.position == witness_.position() && stat.state_hash == witness_.state().hash();
      }
      if (has_noticed) ahead_.erase(node->id());
    }
  } while (co_await noticing_.sleep(nature_.clock(), std::chrono::milliseconds(100)));
}

void ClusterRun::report_unnoticed() {
  after_->tell([&](Checker& checker) {
    for (const auto& [broker, process] : ahead_) checker.on_restore_unnoticed(broker);
    for (auto& node : nodes_) {
      if (node->process() && node->process()->ready()) continue;
      checker.on_stuck("", fmt::format("node {} does not come back after the log went back: {}",
                                       node->id(), node->state()));
    }
  });
}

// New clients find one history, whichever broker they ask, and add to it.
void ClusterRun::work_on() {
  ClientParts parts{.world = world_,
                    .weather = weather_,
                    .nodes = parts_.nodes,
                    .history = *after_,
                    .partitions = partitions_of(parts_.partitions, kOrders)};
  constexpr std::uint64_t kRecords = 20;
  Producer& producer = *producers_.emplace_back(
      std::make_unique<Producer>(parts, kLaterProducer, ProducerKind::kIdempotent, kRecords));
  producer.start();
  const auto report = [&](const std::string& what) {
    after_->tell([&](Checker& checker) { checker.on_stuck("orders/0", what); });
  };
  if (!wait_for(kHealing, [&] { return producer.done(); }))
    report("a producer is not done after the log went back: " + producer.trouble());
  producer.stop();
  std::vector<Consumer*> readers;
  for (int i = 0; i < options_.brokers; ++i) {
    readers.push_back(consumers_.emplace_back(std::make_unique<Consumer>(parts, kLater + i)).get());
    readers.back()->start_last_reading({});
  }
  const bool is_read = wait_for(kHealing, [&] {
    return std::ranges::all_of(readers, [](Consumer* reader) { return reader->done(); });
  });
  if (!is_read) report("not everything can be read after the log went back");
  after_->tell([](Checker& checker) { checker.on_end(); });
  judging_.spawn(nature_.executor(), compare_brokers());
  wait_for(kHealing, [&] { return judging_.running() == 0; });
  restart_nodes();
}

Task<void> ClusterRun::compare_brokers() {
  for (auto& node : nodes_) {
    const auto process = node->process();
    if (!process || !process->ready()) continue;
    const auto stat = co_await process->coordinator().stat();
    after_->tell([&](Checker& checker) { checker.on_state(stat.position, stat.state_hash); });
  }
  const std::string trouble = co_await snapshots_->trouble();
  if (!trouble.empty()) after_->tell([&](Checker& checker) { checker.on_snapshot_lost(trouble); });
}

}  // namespace weir::sim

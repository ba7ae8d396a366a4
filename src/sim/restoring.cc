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
  const Duration most = settings_.witness.delete_grace / 2;
  world_.run_until([] { return false; },
                   std::min<Duration>(
                       Duration(rng_.below(static_cast<std::uint64_t>(most.count()))), seconds(5)));
  if (log_.image().snapshot.position == backup.snapshot.position && witness_.position() > tail) {
    put_back(std::move(backup), tail);
  }
  stop_lost_clients();
  if (!after_) return;
  work_on();
  judge_objects();
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

// Brokers that have seen what is lost notice, and come back by themselves.
void ClusterRun::put_back(metadata::MemoryLog::Image backup, metadata::Position tail) {
  std::map<BrokerId, std::weak_ptr<SimProcess>> ahead;
  for (auto& node : nodes_) {
    if (node->process() && node->process()->coordinator().applied() > tail)
      ahead[node->id()] = node->process();
  }
  world_.tell("", [&] { return fmt::format("the log returns to position {}", tail); });
  after_.emplace(world_, settings_.witness.offsets_retention);
  witness_.begin_anew(tail, *after_);
  log_.restore(std::move(backup));
  // One that starts anew takes the log as it is, and appends other entries to it.
  if (options_.brokers > 1 && rng_.below(2) == 0) {
    ahead.erase(nodes_.front()->id());
    nodes_.front()->kill();
    nodes_.front()->start();
  }
  const auto has_noticed = [&](const auto& node) {
    auto old = ahead.find(node->id());
    return old == ahead.end() || node->process() != old->second.lock();
  };
  const bool is_well = wait_for(
      kHealing, [&] { return std::ranges::all_of(nodes_, has_noticed) && are_nodes_ready(); });
  if (is_well) return;
  for (auto& node : nodes_) {
    if (!has_noticed(node))
      after_->tell([&](Checker& checker) { checker.on_restore_unnoticed(node->id()); });
  }
  after_->tell([&](Checker& checker) {
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

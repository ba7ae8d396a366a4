#include "kafka/protocol/messages/offset_commit.h"
#include "sim/clients.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

using kafka::KafkaError;
using std::chrono::milliseconds;

}  // namespace

Consumer::Consumer(ClientParts parts, int number)
    : parts_(std::move(parts)),
      group_id_(fmt::format("group-{}", number)),
      machine_(parts_.world.add_machine()),
      rng_(parts_.world.fork()),
      reader_(parts_) {}

void Consumer::start() { group_.spawn(machine_.executor(), run()); }

void Consumer::start_last_reading(std::vector<std::string> groups) {
  group_.spawn(machine_.executor(), read_all(std::move(groups)));
}

Task<void> Consumer::run() {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  Link coordinator(parts_.world, machine_, parts_.weather, parts_.nodes);
  Link any(parts_.world, machine_, parts_.weather, parts_.nodes);
  while (!group_.stopping()) {
    const auto bytes = static_cast<std::int32_t>(1 + rng_.below(4096));
    if (!co_await reader_.fetch(link, parts_.partitions, bytes)) {
      link.choose();
      co_await group_.sleep(machine_.clock(), milliseconds(100));
    }
    if (rng_.below(10) == 0) link.choose();
    if (rng_.below(4) == 0) coordinator.choose();
    if (rng_.below(4) == 0) co_await commit(coordinator);
    if (rng_.below(3) == 0) {
      // Whoever takes itself for the coordinator must know what is committed.
      any.choose();
      std::ignore = co_await read_committed(parts_, any, group_id_, parts_.partitions);
    }
    co_await group_.sleep(machine_.clock(), milliseconds(rng_.below(200)));
  }
}

Task<void> Consumer::read_all(std::vector<std::string> groups) {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  while (!group_.stopping() && !reader_.at_end(parts_.partitions)) {
    if (co_await reader_.fetch(link, parts_.partitions, 1 << 16)) continue;
    link.choose();
    co_await group_.sleep(machine_.clock(), milliseconds(50));
  }
  for (const std::string& group : groups) {
    while (!group_.stopping()) {
      const bool is_found = co_await find_coordinator(link, group);
      if (is_found && co_await read_committed(parts_, link, group, parts_.partitions)) break;
      link.choose();
      co_await group_.sleep(machine_.clock(), milliseconds(50));
    }
  }
}

Task<void> Consumer::commit(Link& link) {
  if (!co_await find_coordinator(link, group_id_)) co_return;
  kafka::OffsetCommitRequest request;
  request.group_id = group_id_;
  std::vector<Offset> offsets;
  for (const Where& where : parts_.partitions) {
    if (request.topics.empty() || request.topics.back().name != topic_name(where.topic))
      request.topics.emplace_back().name = topic_name(where.topic);
    offsets.push_back(reader_.position(where));
    request.topics.back().partitions.push_back(
        {.partition_index = where.partition, .committed_offset = offsets.back()});
  }
  const Moment sent = parts_.history.next_moment();
  auto response = co_await link.call<kafka::OffsetCommitResponse>(request, 8);
  if (!response) {
    link.choose();
    co_return;
  }
  std::size_t next = 0;
  for (const auto& topic : response->topics) {
    for (const auto& partition : topic.partitions) {
      const Commit commit{.group = group_id_,
                          .where = parts_.partitions.at(next),
                          .offset = offsets.at(next),
                          .sent = sent,
                          .at = parts_.history.next_moment()};
      ++next;
      if (partition.error_code != KafkaError::kNone) continue;
      parts_.history.tell([&](Checker& checker) { checker.on_committed(commit); });
    }
  }
}

}  // namespace weir::sim

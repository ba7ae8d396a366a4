#include "sim/clients.h"

#include "kafka/protocol/messages/create_topics.h"
#include "kafka/protocol/messages/find_coordinator.h"
#include "kafka/protocol/messages/offset_commit.h"
#include "kafka/protocol/messages/offset_fetch.h"

namespace weir::sim {

using kafka::KafkaError;
using std::chrono::milliseconds;

std::vector<Where> partitions_of(const std::vector<Where>& all, std::int32_t topic) {
  std::vector<Where> out;
  for (const Where& where : all) {
    if (where.topic == topic) out.push_back(where);
  }
  return out;
}

Task<void> create_topic(ClientParts parts, std::string name, std::int32_t partitions,
                        Machine& machine, TaskGroup& group) {
  Link link(parts.world, machine, parts.weather, parts.nodes);
  kafka::CreateTopicsRequest request;
  request.topics.push_back({.name = name,
                            .num_partitions = partitions,
                            .replication_factor = 1,
                            .assignments = {},
                            .configs = {}});
  while (!group.stopping()) {
    auto response = co_await link.call<kafka::CreateTopicsResponse>(request, 7);
    if (response) {
      const auto error = response->topics.at(0).error_code;
      if (error == KafkaError::kNone || error == KafkaError::kTopicAlreadyExists) co_return;
    }
    link.choose();
    co_await group.sleep(machine.clock(), milliseconds(200));
  }
}

Task<bool> find_coordinator(Link& link, std::string group) {
  kafka::FindCoordinatorRequest find;
  find.coordinator_keys.push_back(group);
  auto found = co_await link.call<kafka::FindCoordinatorResponse>(find, 4);
  if (!found || found->coordinators.empty() ||
      found->coordinators.front().error_code != KafkaError::kNone) {
    link.choose();
    co_return false;
  }
  link.choose(found->coordinators.front().node_id);
  co_return true;
}

Task<std::optional<std::vector<Offset>>> read_committed(ClientParts parts, Link& link,
                                                        std::string group,
                                                        std::vector<Where> partitions) {
  kafka::OffsetFetchRequest request;
  auto& asked = request.groups.emplace_back();
  asked.group_id = group;
  asked.topics = std::nullopt;
  const Moment moment = parts.history.next_moment();
  auto response = co_await link.call<kafka::OffsetFetchResponse>(request, 8);
  if (!response || response->groups.empty() ||
      response->groups.front().error_code != KafkaError::kNone) {
    co_return std::nullopt;
  }
  std::vector<Offset> offsets(partitions.size(), kNoOffset);
  for (const auto& topic : response->groups.front().topics) {
    for (const auto& partition : topic.partitions) {
      if (partition.error_code != KafkaError::kNone) co_return std::nullopt;
      for (std::size_t i = 0; i < partitions.size(); ++i) {
        const bool is_it = topic.name == topic_name(partitions[i].topic) &&
                           partition.partition_index == partitions[i].partition;
        if (is_it) offsets[i] = partition.committed_offset;
      }
    }
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    parts.history.tell([&](Checker& checker) {
      checker.on_committed_read(group, partitions[i], moment, parts.world.now(), offsets[i]);
    });
  }
  co_return offsets;
}

Task<bool> commit_offsets(ClientParts parts, Link& link, std::string group,
                          std::vector<Where> partitions, std::vector<Offset> offsets) {
  kafka::OffsetCommitRequest request;
  request.group_id = group;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const Where& where = partitions[i];
    if (request.topics.empty() || request.topics.back().name != topic_name(where.topic))
      request.topics.emplace_back().name = topic_name(where.topic);
    request.topics.back().partitions.push_back(
        {.partition_index = where.partition, .committed_offset = offsets[i]});
  }
  Commit commit{.group = group,
                .sent = parts.history.next_moment(),
                .lasts_until = parts.history.lasts_until()};
  auto response = co_await link.call<kafka::OffsetCommitResponse>(request, 8);
  if (!response) {
    link.choose();
    co_return false;
  }
  bool is_all = true;
  std::size_t next = 0;
  for (const auto& topic : response->topics) {
    for (const auto& partition : topic.partitions) {
      commit.where = partitions.at(next);
      commit.offset = offsets.at(next);
      commit.at = parts.history.next_moment();
      ++next;
      is_all &= partition.error_code == KafkaError::kNone;
      if (partition.error_code != KafkaError::kNone) continue;
      parts.history.tell([&](Checker& checker) { checker.on_committed(commit); });
    }
  }
  co_return is_all;
}

}  // namespace weir::sim

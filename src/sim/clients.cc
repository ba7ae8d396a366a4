#include "sim/clients.h"

#include "kafka/protocol/messages/create_topics.h"

namespace weir::sim {

using std::chrono::milliseconds;

Task<void> create_topic(ClientParts parts, Machine& machine, TaskGroup& group) {
  Link link(parts.world, machine, parts.weather, parts.nodes);
  kafka::CreateTopicsRequest request;
  request.topics.push_back({.name = parts.topic,
                            .num_partitions = parts.partitions,
                            .replication_factor = 1,
                            .assignments = {},
                            .configs = {}});
  while (!group.stopping()) {
    auto response = co_await link.call<kafka::CreateTopicsResponse>(request, 7);
    if (response) {
      const auto error = response->topics.at(0).error_code;
      if (error == kafka::KafkaError::kNone || error == kafka::KafkaError::kTopicAlreadyExists) {
        co_return;
      }
    }
    link.choose();
    co_await group.sleep(machine.clock(), milliseconds(200));
  }
}

}  // namespace weir::sim

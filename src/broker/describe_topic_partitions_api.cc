// DescribeTopicPartitions (KIP-966): topics in order of their names, in pages of a limited number
// of partitions.
#include "broker/apis.h"
#include "broker/cluster_view.h"
#include "broker/configs.h"
#include "broker/topic_admin.h"
#include "kafka/protocol/messages/describe_topic_partitions.h"

namespace weir::broker {
namespace {

using kafka::DescribeTopicPartitionsRequest;
using kafka::DescribeTopicPartitionsResponse;
using kafka::KafkaError;

DescribeTopicPartitionsResponse::Partition describe(std::int32_t index, LeaderEpoch epoch,
                                                    const Placement* place) {
  DescribeTopicPartitionsResponse::Partition out;
  out.partition_index = index;
  out.leader_epoch = epoch;
  out.eligible_leader_replicas.emplace();
  out.last_known_elr.emplace();
  if (place == nullptr) {
    out.error_code = KafkaError::kListenerNotFound;
    out.leader_id = -1;
    return out;
  }
  out.leader_id = place->leader;
  out.replica_nodes = place->replicas;
  out.isr_nodes = place->replicas;
  return out;
}

// The names asked for, all when none is, in order and from the cursor on.
std::vector<std::string> names_to_describe(const metadata::ClusterImage& image,
                                           const DescribeTopicPartitionsRequest& request) {
  std::vector<std::string> names;
  for (const auto& topic : request.topics) names.emplace_back(topic.name);
  if (names.empty()) {
    image.topics_by_name.for_each(
        [&](const std::string& name, const auto&) { names.push_back(name); });
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  if (request.cursor)
    std::erase_if(names,
                  [&](const std::string& name) { return name < request.cursor->topic_name; });
  return names;
}

DescribeTopicPartitionsResponse::Topic unknown(const std::string& name) {
  DescribeTopicPartitionsResponse::Topic out;
  out.name = name;
  out.topic_authorized_operations = kAllTopicOperations;
  KafkaError invalid = check_topic_name(name).error;
  out.error_code = invalid != KafkaError::kNone ? invalid : KafkaError::kUnknownTopicOrPartition;
  return out;
}

DescribeTopicPartitionsResponse refuse(const DescribeTopicPartitionsRequest& request) {
  DescribeTopicPartitionsResponse response;
  for (const auto& topic : request.topics) {
    auto& out = response.topics.emplace_back();
    out.name = std::string(topic.name);
    out.error_code = KafkaError::kInvalidRequest;
  }
  return response;
}

Task<DescribeTopicPartitionsResponse> describe_topic_partitions(
    Broker& broker, const RequestContext& context, const DescribeTopicPartitionsRequest& request) {
  DescribeTopicPartitionsResponse response;
  if (request.cursor && request.cursor->partition_index < 0) co_return refuse(request);
  // What was just created through another broker must be found.
  std::ignore = co_await broker.coordinator.catch_up();
  auto image = broker.coordinator.image();
  Routing routing = routing_for(broker, context, *image);
  std::int32_t limit =
      broker.configs.current(context.client.core)->broker.max_topic_partitions_per_answer;
  std::int32_t left = std::min(request.response_partition_limit, limit);
  if (left <= 0) left = limit;
  for (const std::string& name : names_to_describe(*image, request)) {
    auto topic = image->topic(name);
    if (!topic) {
      response.topics.push_back(unknown(name));
      continue;
    }
    bool is_cursor = request.cursor && request.cursor->topic_name == name;
    std::int32_t first = is_cursor ? request.cursor->partition_index : 0;
    if (left == 0) {
      response.next_cursor = {.topic_name = name, .partition_index = first};
      break;
    }
    auto& out = response.topics.emplace_back();
    out.name = name;
    out.topic_id = topic->id;
    out.topic_authorized_operations = kAllTopicOperations;
    std::vector<Placement> places = routing.place(*topic);
    for (std::int32_t i = first; i < topic->partition_count() && left > 0; ++i, --left) {
      out.partitions.push_back(describe(
          i, image->membership, places.empty() ? nullptr : &places[static_cast<std::size_t>(i)]));
    }
    std::int32_t next = first + static_cast<std::int32_t>(out.partitions.size());
    if (next < topic->partition_count()) {
      response.next_cursor = {.topic_name = name, .partition_index = next};
      break;
    }
  }
  co_return response;
}

}  // namespace

const ApiHandler kDescribeTopicPartitionsApi{
    kafka::ApiKey::kDescribeTopicPartitions,
    &serve_reading<&describe_topic_partitions, DescribeTopicPartitionsRequest>};

}  // namespace weir::broker

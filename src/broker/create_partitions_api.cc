// CreatePartitions: more partitions for topics that exist.
#include "broker/apis.h"
#include "broker/broker.h"
#include "broker/submit.h"
#include "broker/topic_admin.h"
#include "kafka/error_map.h"
#include "kafka/protocol/messages/create_partitions.h"

#include <fmt/format.h>

namespace weir::broker {
namespace {

using kafka::CreatePartitionsRequest;
using kafka::CreatePartitionsResponse;
using kafka::KafkaError;
using TopicResult = CreatePartitionsResponse::Result;

constexpr std::int32_t kMaxPartitionsPerTopic = 100'000;

TopicResult failed(std::string_view name, KafkaError error, std::string message) {
  return {.name = std::string(name), .error_code = error, .error_message = std::move(message)};
}

// Why the request cannot be met; nothing when it can.
std::optional<TopicResult> refuse(const metadata::ClusterImage& image,
                                  const metadata::TopicImage* topic,
                                  const CreatePartitionsRequest::Topic& asked) {
  if (topic == nullptr) {
    return TopicResult{.name = std::string(asked.name),
                       .error_code = KafkaError::kUnknownTopicOrPartition};
  }
  if (asked.count <= topic->partition_count() || asked.count > kMaxPartitionsPerTopic) {
    return failed(
        asked.name, KafkaError::kInvalidPartitions,
        fmt::format("the topic has {} partitions; the new number must be greater and at most {}",
                    topic->partition_count(), kMaxPartitionsPerTopic));
  }
  if (!asked.assignments) return std::nullopt;
  auto added = static_cast<std::size_t>(asked.count - topic->partition_count());
  bool is_complete = asked.assignments->size() == added &&
                     std::ranges::all_of(*asked.assignments, [&](const auto& a) {
                       return are_replicas(image, a.broker_ids);
                     });
  if (is_complete) return std::nullopt;
  return failed(
      asked.name, KafkaError::kInvalidReplicaAssignment,
      fmt::format("{} replica assignments for {} new partitions; each names different live brokers",
                  asked.assignments->size(), added));
}

Task<TopicResult> grow(Broker& broker, const CreatePartitionsRequest::Topic& asked,
                       bool validate_only, std::chrono::milliseconds wait) {
  auto image = broker.coordinator.image();
  auto topic = image->topic(asked.name);
  if (auto refusal = refuse(*image, topic.get(), asked)) co_return *refusal;
  if (validate_only) co_return TopicResult{.name = std::string(asked.name)};
  auto applied = co_await submit_within(
      broker, metadata::CreatePartitions{.topic = topic->id, .count = asked.count}, wait);
  if (!applied)
    co_return failed(asked.name, kafka::admin_error(applied.error().code),
                     applied.error().to_string());
  if (applied->error == KafkaError::kNone) co_return TopicResult{.name = std::string(asked.name)};
  co_return failed(asked.name, applied->error,
                   "another request changed the topic at the same time");
}

Task<CreatePartitionsResponse> create_partitions(Broker& broker, const RequestContext&,
                                                 const CreatePartitionsRequest& request) {
  CreatePartitionsResponse response;
  std::ignore = co_await broker.coordinator.catch_up();
  std::map<std::string_view, int> times;
  std::int64_t added = 0;
  auto image = broker.coordinator.image();
  for (const auto& asked : request.topics) {
    auto topic = image->topic(asked.name);
    added += topic ? std::max(asked.count - topic->partition_count(), 0) : 0;
  }
  if (added > kMaxPartitionsPerRequest) {
    for (const auto& asked : request.topics) {
      response.results.push_back(
          failed(asked.name, KafkaError::kPolicyViolation,
                 fmt::format("the request asks for {} more partitions together; at most {} are "
                             "made at once",
                             added, kMaxPartitionsPerRequest)));
    }
    co_return response;
  }
  for (const auto& topic : request.topics) ++times[topic.name];
  for (const auto& topic : request.topics) {
    if (times[topic.name] > 1) {
      response.results.push_back(
          failed(topic.name, KafkaError::kInvalidRequest, "the request names this topic twice"));
      times[topic.name] = 0;
    } else if (times[topic.name] == 1) {
      response.results.push_back(
          co_await grow(broker, topic, request.validate_only, wait_of(request.timeout_ms)));
    }
  }
  co_return response;
}

}  // namespace

const ApiHandler kCreatePartitionsApi{kafka::ApiKey::kCreatePartitions,
                                      &serve<&create_partitions, CreatePartitionsRequest>};

}  // namespace weir::broker

// CreateTopics: each topic is judged alone.
#include "broker/apis.h"
#include "broker/configs.h"
#include "broker/submit.h"
#include "broker/topic_admin.h"
#include "config/describe.h"
#include "kafka/protocol/messages/create_topics.h"

namespace weir::broker {
namespace {

using kafka::CreateTopicsRequest;
using kafka::CreateTopicsResponse;
using kafka::KafkaError;

constexpr std::int16_t kConfigsVersion =
    5;  // from it on, the answer lists the topic's configuration

CreateTopicsResponse::Topic failed(std::string_view name, KafkaError error, std::string message) {
  return {.name = std::string(name),
          .topic_id = {},
          .error_code = error,
          .error_message = std::move(message)};
}

// Replica assignments by hand fix the number of partitions; whose replicas they name has no meaning
// here, but they must name live brokers. NONE, or how they are wrong.
KafkaError apply_assignments(const metadata::ClusterImage& image, TopicSpec& spec,
                             const CreateTopicsRequest::Topic& topic) {
  if (topic.assignments.empty()) return KafkaError::kNone;
  if (topic.num_partitions != -1 || topic.replication_factor != -1)
    return KafkaError::kInvalidRequest;
  std::set<std::int32_t> indexes;
  for (const auto& assignment : topic.assignments) {
    if (!are_replicas(image, assignment.broker_ids)) return KafkaError::kInvalidReplicaAssignment;
    if (assignment.broker_ids.size() != topic.assignments.front().broker_ids.size()) {
      return KafkaError::kInvalidReplicaAssignment;
    }
    indexes.insert(assignment.partition_index);
  }
  bool is_dense = indexes.size() == topic.assignments.size() && *indexes.begin() == 0 &&
                  *indexes.rbegin() == static_cast<std::int32_t>(indexes.size()) - 1;
  if (!is_dense) return KafkaError::kInvalidReplicaAssignment;
  spec.partitions = static_cast<std::int32_t>(indexes.size());
  spec.replication_factor = static_cast<std::int16_t>(topic.assignments.front().broker_ids.size());
  return KafkaError::kNone;
}

// The request's topic as a specification, or why it cannot be one.
std::expected<TopicSpec, CreateTopicsResponse::Topic> spec_of(
    const metadata::ClusterImage& image, const CreateTopicsRequest::Topic& topic) {
  TopicSpec spec{.name = std::string(topic.name),
                 .partitions = topic.num_partitions,
                 .replication_factor = topic.replication_factor,
                 .configs = {}};
  for (const auto& config : topic.configs) {
    if (!config.value) {
      return std::unexpected(
          failed(topic.name, KafkaError::kInvalidConfig,
                 "the configuration " + std::string(config.name) + " has no value"));
    }
    spec.configs[std::string(config.name)] = std::string(*config.value);
  }
  KafkaError assigned = apply_assignments(image, spec, topic);
  if (assigned != KafkaError::kNone) {
    return std::unexpected(failed(
        topic.name, assigned,
        "replica assignments must name each partition from 0 on once, with as many different "
        "live brokers each; partitions and replication factor are -1 then"));
  }
  return spec;
}

CreateTopicsResponse::Topic answer_of(Broker& broker, const RequestContext& context,
                                      const TopicSpec& spec, const TopicOutcome& outcome) {
  if (outcome.error != KafkaError::kNone) return failed(spec.name, outcome.error, outcome.message);
  CreateTopicsResponse::Topic out;
  out.name = spec.name;
  out.topic_id = outcome.id;
  out.error_message = std::nullopt;
  out.num_partitions = outcome.partitions;
  out.replication_factor = outcome.replication_factor;
  if (context.version() < kConfigsVersion) return out;
  out.configs.emplace();
  const auto state = broker.configs.current(context.client.core);
  for (config::ConfigEntry& config : config::describe_topic(spec.configs, state->layers)) {
    out.configs->push_back({.name = std::string(config.key->name),
                            .value = std::move(config.value),
                            .read_only = config.read_only,
                            .config_source = static_cast<std::int8_t>(config.source),
                            .is_sensitive = config.sensitive});
  }
  return out;
}

Task<CreateTopicsResponse> create(Broker& broker, const RequestContext& context,
                                  const CreateTopicsRequest& request) {
  CreateTopicsResponse response;
  std::map<std::string_view, int> times;
  for (const auto& topic : request.topics) ++times[topic.name];
  std::vector<TopicSpec> specs;
  auto image = broker.coordinator.image();
  for (const auto& topic : request.topics) {
    if (times[topic.name] == 0) continue;  // a name that came twice is answered once
    if (times[topic.name] > 1) {
      times[topic.name] = 0;
      response.topics.push_back(
          failed(topic.name, KafkaError::kInvalidRequest, "the request names this topic twice"));
      continue;
    }
    auto spec = spec_of(*image, topic);
    if (spec) {
      specs.push_back(std::move(*spec));
    } else {
      response.topics.push_back(std::move(spec.error()));
    }
  }
  auto outcomes = co_await create_topics(broker, specs,
                                         {.core = context.client.core,
                                          .validate_only = request.validate_only,
                                          .wait = wait_of(request.timeout_ms)});
  for (std::size_t i = 0; i < specs.size(); ++i) {
    response.topics.push_back(answer_of(broker, context, specs[i], outcomes[i]));
  }
  co_return response;
}

}  // namespace

const ApiHandler kCreateTopicsApi{kafka::ApiKey::kCreateTopics,
                                  &serve<&create, CreateTopicsRequest>};

}  // namespace weir::broker

#include "broker/topic_admin.h"

#include "broker/configs.h"
#include "broker/ids.h"
#include "broker/submit.h"
#include "config/topic_config.h"
#include "kafka/error_map.h"

#include <fmt/format.h>

namespace weir::broker {
namespace {

using kafka::KafkaError;

constexpr std::int32_t kMaxPartitionsPerTopic = 100'000;

std::int64_t partitions_of(const ConfigState& state, const TopicSpec& spec) {
  return spec.partitions == -1 ? state.broker.new_topics.partitions : std::max(spec.partitions, 0);
}

TopicOutcome refused(KafkaError error, std::string message) {
  return {.error = error, .message = std::move(message), .id = {}};
}

std::string already_exists(std::string_view name) {
  return fmt::format("topic '{}' already exists", name);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

// Everything about one topic that does not depend on the others of the request.
TopicOutcome check(const Broker& broker, const ConfigState& state, const TopicSpec& spec) {
  TopicOutcome named = check_topic_name(spec.name);
  if (named.error != KafkaError::kNone) return named;
  if (spec.partitions == 0 || spec.partitions < -1) {
    return refused(KafkaError::kInvalidPartitions,
                   "the number of partitions must be greater than 0, or -1 for the default");
  }
  if (spec.partitions > kMaxPartitionsPerTopic) {
    return refused(KafkaError::kInvalidPartitions,
                   fmt::format("{} partitions are more than the {} a topic may have",
                               spec.partitions, kMaxPartitionsPerTopic));
  }
  if (spec.replication_factor == 0 || spec.replication_factor < -1) {
    return refused(KafkaError::kInvalidReplicationFactor,
                   "the replication factor must be greater than 0, or -1 for the default");
  }
  if (auto valid = config::validate_topic_configs(spec.configs, state.layers); !valid) {
    return refused(valid.error().error, valid.error().message);
  }
  TopicOutcome out;
  out.partitions = static_cast<std::int32_t>(partitions_of(state, spec));
  out.replication_factor = spec.replication_factor == -1
                               ? state.broker.new_topics.replication_factor
                               : spec.replication_factor;
  if (broker.coordinator.image()->topic(spec.name)) {
    return refused(KafkaError::kTopicAlreadyExists, already_exists(spec.name));
  }
  return out;
}

metadata::NewTopic new_topic(Broker& broker, const TopicSpec& spec, TopicOutcome& outcome) {
  outcome.id = broker.ids.next_uuid();
  metadata::NewTopic topic{.name = spec.name,
                           .id = outcome.id,
                           .partitions = outcome.partitions,
                           .replication_factor = outcome.replication_factor,
                           .configs = {}};
  for (const auto& [name, value] : spec.configs)
    topic.configs.push_back({.name = name, .value = value});
  return topic;
}

}  // namespace

TopicOutcome check_topic_name(std::string_view name) {
  auto invalid = [&](std::string_view why) {
    return refused(KafkaError::kInvalidTopicException,
                   fmt::format("topic name '{}' {}", name.substr(0, kMaxTopicName), why));
  };
  if (name.empty()) return invalid("is empty");
  if (name == "." || name == "..") return invalid("is a name of folders");
  if (name.size() > kMaxTopicName)
    return invalid(fmt::format("is longer than {} characters", kMaxTopicName));
  if (!std::ranges::all_of(name, is_name_character))
    return invalid("may only have ASCII letters, digits, '.', '_' and '-'");
  return {};
}

bool are_replicas(const metadata::ClusterImage& image, const std::vector<BrokerId>& brokers) {
  std::set<BrokerId> distinct(brokers.begin(), brokers.end());
  return !brokers.empty() && distinct.size() == brokers.size() &&
         std::ranges::all_of(distinct, [&](BrokerId id) { return image.brokers.contains(id); });
}

Task<std::vector<TopicOutcome>> create_topics(Broker& broker, std::vector<TopicSpec> specs,
                                              CreateOptions options) {
  std::vector<TopicOutcome> outcomes;
  std::vector<std::size_t> created;  // indexes
  metadata::CreateTopics command;
  const auto state = broker.configs.current(options.core);
  std::int64_t partitions = 0;
  for (const TopicSpec& spec : specs) partitions += partitions_of(*state, spec);
  if (partitions > kMaxPartitionsPerRequest) {
    outcomes.assign(specs.size(),
                    refused(KafkaError::kPolicyViolation,
                            fmt::format("the request asks for {} partitions together; at most {} "
                                        "are made at once",
                                        partitions, kMaxPartitionsPerRequest)));
    co_return outcomes;
  }
  // Another broker may have deleted what seems to exist.
  bool seem_to_exist = std::ranges::any_of(specs, [&](const TopicSpec& spec) {
    return broker.coordinator.image()->topic(spec.name) != nullptr;
  });
  if (seem_to_exist) std::ignore = co_await broker.coordinator.catch_up();
  for (const TopicSpec& spec : specs) {
    TopicOutcome& outcome = outcomes.emplace_back(check(broker, *state, spec));
    if (outcome.error != KafkaError::kNone) continue;
    metadata::NewTopic topic = new_topic(broker, spec, outcome);
    if (options.validate_only) continue;
    command.topics.push_back(std::move(topic));
    created.push_back(outcomes.size() - 1);
  }
  if (created.empty()) co_return outcomes;
  auto result = co_await submit_within(broker, std::move(command), options.wait);
  for (std::size_t i = 0; i < created.size(); ++i) {
    TopicOutcome& outcome = outcomes[created[i]];
    KafkaError error = KafkaError::kNone;
    std::string message;
    if (!result) {
      error = kafka::admin_error(result.error().code);
      message = result.error().to_string();
    } else {
      error = result->error != KafkaError::kNone ? result->error : result->items[i].error;
      if (error == KafkaError::kTopicAlreadyExists)
        message = already_exists(specs[created[i]].name);
      if (error == KafkaError::kInvalidTopicException) {
        message = fmt::format("topic name '{}' differs from an existing one only in '.' and '_'",
                              specs[created[i]].name);
      }
    }
    if (error != KafkaError::kNone) outcome = refused(error, std::move(message));
  }
  co_return outcomes;
}

}  // namespace weir::broker

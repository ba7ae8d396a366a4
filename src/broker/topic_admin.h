// Creating topics, for CreateTopics and for the auto-creation of Metadata: checks as Kafka makes
// them, defaults, and the entry in the metadata log.
#pragma once
#include "broker/broker.h"
#include "kafka/protocol/errors.h"

#include <span>
#include <string>
#include <vector>

namespace weir::broker {

constexpr std::size_t kMaxTopicName = 249;
// What one request may make, of all its topics together, as in Kafka.
constexpr std::int32_t kMaxPartitionsPerRequest = 10'000;

struct TopicSpec {
  std::string name;
  std::int32_t partitions = -1;          // -1: num.partitions
  std::int16_t replication_factor = -1;  // -1: default.replication.factor
  metadata::ConfigMap configs;
};

struct TopicOutcome {
  kafka::KafkaError error = kafka::KafkaError::kNone;
  std::string message;
  TopicId id;
  std::int32_t partitions = -1;
  std::int16_t replication_factor = -1;
};

// NONE, or INVALID_TOPIC_EXCEPTION with the reason.
[[nodiscard]] TopicOutcome check_topic_name(std::string_view name);

// Whether brokers may stand as the replicas of a partition: live ones, at least one, each once.
[[nodiscard]] bool are_replicas(const metadata::ClusterImage& image,
                                const std::vector<BrokerId>& brokers);

struct CreateOptions {
  std::size_t core = 0;              // the caller's
  bool validate_only = false;        // nothing is created
  std::chrono::milliseconds wait{};  // REQUEST_TIMED_OUT after it; topics may be created yet
};

// Outcome i is for spec i.
Task<std::vector<TopicOutcome>> create_topics(Broker& broker, std::vector<TopicSpec> specs,
                                              CreateOptions options);

}  // namespace weir::broker

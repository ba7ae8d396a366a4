// The verdicts are those of Apache Kafka 4.4 on the same requests, except where a comment says
// otherwise.
#include "config/alter.h"

#include <gtest/gtest.h>

namespace weir::config {
namespace {

using kafka::KafkaError;
using enum AlterOp;

const Machine kMachine{.host_name = "box", .cores = 1};

struct Outcome {
  KafkaError error = KafkaError::kNone;
  Settings settings;
};

Outcome alter(Scope scope, const Settings& current, const std::vector<Alteration>& alterations) {
  auto result = apply_alterations(scope, current, alterations);
  if (!result) return {.error = result.error().error};
  return {.settings = *std::move(result)};
}

Settings topic(const Settings& current, const std::vector<Alteration>& alterations) {
  auto outcome = alter(Scope::kTopic, current, alterations);
  EXPECT_EQ(outcome.error, KafkaError::kNone);
  return outcome.settings;
}

KafkaError topic_error(const std::vector<Alteration>& alterations) {
  return alter(Scope::kTopic, {}, alterations).error;
}

TEST(ApplyAlterations, SetAndDelete) {
  EXPECT_EQ(topic({{"a", "1"}}, {{"retention.ms", kSet, "5"}}),
            (Settings{{"a", "1"}, {"retention.ms", "5"}}));
  EXPECT_EQ(topic({{"retention.ms", "5"}}, {{"retention.ms", kSet, "6"}}),
            (Settings{{"retention.ms", "6"}}));
  EXPECT_EQ(topic({{"retention.ms", "5"}}, {{"retention.ms", kDelete, std::nullopt}}), Settings{});
  // What is not set, and even what does not exist, can be deleted.
  EXPECT_EQ(topic({}, {{"retention.ms", kDelete, ""}, {"nope", kDelete, ""}}), Settings{});
}

TEST(ApplyAlterations, AppendAndSubtract) {
  constexpr const char* kPolicy = "cleanup.policy";
  // A list that is not set begins with its default, delete.
  EXPECT_EQ(topic({}, {{kPolicy, kAppend, "compact"}}), (Settings{{kPolicy, "delete,compact"}}));
  EXPECT_EQ(topic({{kPolicy, "delete,compact"}}, {{kPolicy, kAppend, "compact"}}),
            (Settings{{kPolicy, "delete,compact"}}));
  EXPECT_EQ(topic({{kPolicy, "delete"}}, {{kPolicy, kAppend, "compact, delete"}}),
            (Settings{{kPolicy, "delete,compact"}}));
  EXPECT_EQ(topic({{kPolicy, "delete,compact"}}, {{kPolicy, kSubtract, "delete"}}),
            (Settings{{kPolicy, "compact"}}));
  EXPECT_EQ(topic({{kPolicy, "compact"}}, {{kPolicy, kSubtract, "delete"}}),
            (Settings{{kPolicy, "compact"}}));
  EXPECT_EQ(topic({{kPolicy, "compact"}}, {{kPolicy, kSubtract, "compact"}}),
            (Settings{{kPolicy, ""}}));
  EXPECT_EQ(topic({{kPolicy, ""}}, {{kPolicy, kAppend, "compact"}}),
            (Settings{{kPolicy, "compact"}}));
  EXPECT_EQ(topic({}, {{"leader.replication.throttled.replicas", kAppend, "0:1"}}),
            (Settings{{"leader.replication.throttled.replicas", "0:1"}}));
}

TEST(ApplyAlterations, ListsOfGroupsToo) {
  // Kafka refuses this although the key is a list.
  const auto outcome = alter(Scope::kGroup, {{"streams.rack.aware.assignment.tags", "a"}},
                             {{"streams.rack.aware.assignment.tags", kAppend, "b"}});
  EXPECT_EQ(outcome.settings, (Settings{{"streams.rack.aware.assignment.tags", "a,b"}}));
}

TEST(ApplyAlterations, Refusals) {
  EXPECT_EQ(topic_error({{"retention.ms", kAppend, "1"}}), KafkaError::kInvalidConfig);
  EXPECT_EQ(topic_error({{"retention.ms", kSubtract, "1"}}), KafkaError::kInvalidConfig);
  EXPECT_EQ(topic_error({{"nope", kAppend, "1"}}), KafkaError::kInvalidConfig);
  EXPECT_EQ(topic_error({{"cleanup.policy", kSet, std::nullopt}}), KafkaError::kInvalidRequest);
  EXPECT_EQ(topic_error({{"cleanup.policy", kAppend, std::nullopt}}), KafkaError::kInvalidRequest);
  EXPECT_EQ(topic_error({{"retention.ms", kSet, "1"}, {"retention.ms", kSet, "2"}}),
            KafkaError::kInvalidRequest);
  EXPECT_EQ(topic_error({{"retention.ms", kSet, "1"}, {"retention.ms", kDelete, ""}}),
            KafkaError::kInvalidRequest);
  EXPECT_EQ(topic_error({{"retention.ms", static_cast<AlterOp>(4), "1"}}),
            KafkaError::kInvalidRequest);
  EXPECT_EQ(topic_error({{"retention.ms", static_cast<AlterOp>(-1), "1"}}),
            KafkaError::kInvalidRequest);
}

KafkaError dynamic(DynamicTarget target, const Settings& proposed) {
  const auto layers = *make_layers({}, kMachine);
  const auto checked = validate_dynamic_configs(target, proposed, layers, kMachine, {});
  return checked ? KafkaError::kNone : checked.error().error;
}

TEST(ValidateDynamicConfigs, WhatKafkaTakesAndRefuses) {
  using enum DynamicTarget;
  EXPECT_EQ(dynamic(kBroker, {{"log.retention.ms", "1000000"}}), KafkaError::kNone);
  EXPECT_EQ(dynamic(kClusterDefault, {{"log.retention.ms", "2000000"}}), KafkaError::kNone);
  EXPECT_EQ(dynamic(kBroker, {{"log.retention.ms", "-5"}}), KafkaError::kNone);
  EXPECT_EQ(dynamic(kBroker, {{"leader.replication.throttled.rate", "1000"}}), KafkaError::kNone);
  EXPECT_EQ(dynamic(kBroker, {{"max.connections.per.ip.overrides", "127.0.0.1:5"}}),
            KafkaError::kNone);
  EXPECT_EQ(dynamic(kBroker, {{"ssl.keystore.type", "PKCS12"}}), KafkaError::kNone);
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"num.partitions", "3"},
           {"log.retention.hours", "3"},
           {"advertised.listeners", "PLAINTEXT://h:1"},
           {"log.retention.check.interval.ms", "5"},
           {"node.id", "5"},
           {"log.retention.ms", "abc"},
           {"log.retention.ms", "0"},
           {"message.max.bytes", "-1"},
           {"log.roll.ms", "0"},
           {"log.cleanup.policy", "foo"},
           {"leader.replication.throttled.rate", "-1"}}) {
    EXPECT_EQ(dynamic(kClusterDefault, {{key, value}}), KafkaError::kInvalidRequest)
        << key << " " << value;
    EXPECT_EQ(dynamic(kBroker, {{key, value}}), KafkaError::kInvalidRequest) << key << " " << value;
  }
  EXPECT_EQ(dynamic(kClusterDefault, {{"ssl.keystore.type", "PKCS12"}}),
            KafkaError::kInvalidRequest);
  // Kafka changes listeners of a running broker; here they are opened at start.
  EXPECT_EQ(dynamic(kBroker, {{"listeners", "PLAINTEXT://:1"}}), KafkaError::kInvalidRequest);
  // Kafka stores a key that it does not know, for plugins.
  EXPECT_EQ(dynamic(kBroker, {{"my.custom.key", "v"}}), KafkaError::kInvalidConfig);
}

TEST(ValidateDynamicConfigs, MessagesNameTheKey) {
  const auto layers = *make_layers({}, kMachine);
  const auto checked = validate_dynamic_configs(DynamicTarget::kBroker, {{"num.partitions", "3"}},
                                                layers, kMachine, {});
  EXPECT_EQ(checked.error().message,
            "num.partitions cannot be changed while brokers run: set it in their configuration and "
            "restart them");
}

}  // namespace
}  // namespace weir::config

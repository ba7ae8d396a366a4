// The verdicts are those of Apache Kafka 4.4 on the same changes.
#include "config/topic_config.h"

#include "config/group_config.h"

#include <gtest/gtest.h>

namespace weir::config {
namespace {

using kafka::KafkaError;

BrokerLayers layers(std::vector<std::string> sets = {}) {
  auto fixed = merge_sources({.sets = std::move(sets)});
  EXPECT_TRUE(fixed) << fixed.error().message;
  return *make_layers(*std::move(fixed), {.host_name = "box", .cores = 1});
}

std::string verdict(const Checked<void>& checked) {
  if (checked) return "ok";
  EXPECT_EQ(checked.error().error, KafkaError::kInvalidConfig);
  return checked.error().message;
}

std::string topic_verdict(const Settings& overrides, std::vector<std::string> sets = {}) {
  return verdict(validate_topic_configs(overrides, layers(std::move(sets))));
}

std::string group_verdict(const Settings& overrides, std::vector<std::string> sets = {}) {
  return verdict(validate_group_configs(overrides, layers(std::move(sets))));
}

// The defaults of Kafka 4.4.
TEST(TopicConfig, Defaults) {
  const TopicConfig config = make_topic_config({}, layers());
  EXPECT_TRUE(config.delete_old);
  EXPECT_FALSE(config.compact);
  EXPECT_EQ(config.retention_ms, 604'800'000);
  EXPECT_EQ(config.retention_bytes, -1);
  EXPECT_EQ(config.compression, CompressionType::kProducer);
  EXPECT_EQ(config.gzip_level, -1);
  EXPECT_EQ(config.lz4_level, 9);
  EXPECT_EQ(config.zstd_level, 3);
  EXPECT_EQ(config.max_message_bytes, 1'048'588);
  EXPECT_EQ(config.max_decompressed_message_bytes, 2'147'483'639);
  EXPECT_EQ(config.timestamp_type, TimestampType::kCreateTime);
  EXPECT_EQ(config.timestamp_before_max_ms, INT64_MAX);
  EXPECT_EQ(config.timestamp_after_max_ms, 3'600'000);
  EXPECT_EQ(config.delete_retention_ms, 86'400'000);
  EXPECT_EQ(config.min_compaction_lag_ms, 0);
  EXPECT_EQ(config.max_compaction_lag_ms, INT64_MAX);
  EXPECT_EQ(config.min_cleanable_dirty_ratio, 0.5);
  EXPECT_EQ(config.segment_bytes, 1'073'741'824);
}

TEST(TopicConfig, OverridesComeBeforeTheBrokersDefaults) {
  const auto broker = layers({"log.cleanup.policy=compact", "compression.type=zstd",
                              "compression.zstd.level=5", "message.max.bytes=10",
                              "log.retention.bytes=7", "log.message.timestamp.type=LogAppendTime"});
  const TopicConfig defaults = make_topic_config({}, broker);
  EXPECT_TRUE(defaults.compact);
  EXPECT_FALSE(defaults.delete_old);
  EXPECT_EQ(defaults.compression, CompressionType::kZstd);
  EXPECT_EQ(defaults.zstd_level, 5);
  EXPECT_EQ(defaults.max_message_bytes, 10);
  EXPECT_EQ(defaults.retention_bytes, 7);
  EXPECT_EQ(defaults.timestamp_type, TimestampType::kLogAppendTime);
  const TopicConfig config = make_topic_config({{"cleanup.policy", "delete, compact"},
                                                {"compression.type", "lz4"},
                                                {"max.message.bytes", "20"},
                                                {"message.timestamp.type", "CreateTime"}},
                                               broker);
  EXPECT_TRUE(config.compact);
  EXPECT_TRUE(config.delete_old);
  EXPECT_EQ(config.compression, CompressionType::kLz4);
  EXPECT_EQ(config.max_message_bytes, 20);
  EXPECT_EQ(config.timestamp_type, TimestampType::kCreateTime);
}

TEST(TopicConfig, AnEmptyCleanupPolicyKeepsEverything) {
  const TopicConfig config = make_topic_config({{"cleanup.policy", ""}}, layers());
  EXPECT_FALSE(config.delete_old);
  EXPECT_FALSE(config.compact);
}

TEST(TopicConfig, CompressionNames) {
  auto compression = [](std::string name) {
    return make_topic_config({{"compression.type", std::move(name)}}, layers()).compression;
  };
  EXPECT_EQ(compression("uncompressed"), CompressionType::kUncompressed);
  EXPECT_EQ(compression("gzip"), CompressionType::kGzip);
  EXPECT_EQ(compression("snappy"), CompressionType::kSnappy);
  EXPECT_EQ(compression("zstd"), CompressionType::kZstd);
  EXPECT_EQ(compression("producer"), CompressionType::kProducer);
}

TEST(TopicConfig, RetentionComesFromTheFinestUnitThatIsSet) {
  auto retention = [](std::vector<std::string> sets) {
    return make_topic_config({}, layers(std::move(sets))).retention_ms;
  };
  EXPECT_EQ(retention({"log.retention.hours=100"}), 360'000'000);
  EXPECT_EQ(retention({"log.retention.hours=100", "log.retention.minutes=2"}), 120'000);
  EXPECT_EQ(retention({"log.retention.hours=100", "log.retention.minutes=2", "log.retention.ms=5"}),
            5);
  EXPECT_EQ(retention({"log.retention.hours=-1"}), -1);
  EXPECT_EQ(retention({"log.retention.ms=-5"}), -1);
  auto dynamic = layers({"log.retention.minutes=2"});
  dynamic.dynamic_default["log.retention.ms"] = "77";
  EXPECT_EQ(make_topic_config({}, dynamic).retention_ms, 77);
}

TEST(TopicConfig, AnInvalidOverrideCountsAsNotSet) {
  EXPECT_EQ(make_topic_config({{"retention.ms", "soon"}}, layers()).retention_ms, 604'800'000);
}

TEST(ValidateTopicConfigs, UnknownKeys) {
  EXPECT_EQ(topic_verdict({{"nope", "1"}}), "Unknown topic configuration nope");
  EXPECT_EQ(topic_verdict({{"retention.mss", "1"}}),
            "Unknown topic configuration retention.mss (did you mean retention.ms?)");
  // Known to Kafka 3 and gone in 4.
  EXPECT_NE(topic_verdict({{"message.format.version", "3.0"}}), "ok");
  EXPECT_NE(topic_verdict({{"message.downconversion.enable", "true"}}), "ok");
}

TEST(ValidateTopicConfigs, BadValues) {
  EXPECT_EQ(
      topic_verdict({{"cleanup.policy", "foo"}}),
      "Invalid value foo for configuration cleanup.policy: must be a comma-separated list; valid: "
      "[compact, delete]");
}

TEST(ValidateTopicConfigs, EveryKeyOfKafkaIsTakenWithItsDefault) {
  Settings all;
  for (const ConfigKey& key : keys(Scope::kTopic)) {
    if (key.default_kind == DefaultKind::kText) all.emplace(key.name, key.default_text);
  }
  EXPECT_EQ(all.size(), 37U);
  EXPECT_EQ(topic_verdict(all), "ok");
}

TEST(ValidateTopicConfigs, CompactionLagsMustGoTogether) {
  EXPECT_EQ(topic_verdict({{"min.compaction.lag.ms", "100"}, {"max.compaction.lag.ms", "50"}}),
            "min.compaction.lag.ms (100) must be at most max.compaction.lag.ms (50)");
  EXPECT_EQ(topic_verdict({{"min.compaction.lag.ms", "100"}, {"max.compaction.lag.ms", "100"}}),
            "ok");
  EXPECT_NE(
      topic_verdict({{"min.compaction.lag.ms", "100"}}, {"log.cleaner.max.compaction.lag.ms=50"}),
      "ok");
}

TEST(ValidateTopicConfigs, TieredStorageIsRefused) {
  EXPECT_NE(topic_verdict({{"remote.storage.enable", "true"}}), "ok");
  EXPECT_EQ(topic_verdict({{"remote.storage.enable", "false"}}), "ok");
}

TEST(ValidateGroupConfigs, WithinTheLimitsOfTheBroker) {
  EXPECT_EQ(group_verdict({{"consumer.session.timeout.ms", "45000"}}), "ok");
  EXPECT_EQ(group_verdict({{"consumer.session.timeout.ms", "60000"}}), "ok");
  EXPECT_EQ(group_verdict({{"consumer.session.timeout.ms", "44999"}}),
            "consumer.session.timeout.ms: 44999 must be at least 45000 "
            "(group.consumer.min.session.timeout.ms)");
  EXPECT_EQ(group_verdict({{"consumer.session.timeout.ms", "60001"}}),
            "consumer.session.timeout.ms: 60001 must be at most 60000 "
            "(group.consumer.max.session.timeout.ms)");
  EXPECT_EQ(group_verdict({{"consumer.session.timeout.ms", "30000"}},
                          {"group.consumer.min.session.timeout.ms=30000"}),
            "ok");
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"consumer.heartbeat.interval.ms", "4000"},
           {"consumer.heartbeat.interval.ms", "16000"},
           {"consumer.assignment.interval.ms", "20000"},
           {"share.session.timeout.ms", "100"},
           {"share.heartbeat.interval.ms", "100"},
           {"share.record.lock.duration.ms", "1000"},
           {"share.delivery.count.limit", "20"},
           {"share.delivery.count.limit", "1"},
           {"share.partition.max.record.locks", "50"},
           {"streams.session.timeout.ms", "1"},
           {"streams.num.standby.replicas", "5"},
           {"share.auto.offset.reset", "none"},
           {"share.isolation.level", "READ_COMMITTED"},
           {"nope", "1"},
           {"streams.assignor.name", "foo"}}) {
    EXPECT_NE(group_verdict({{key, value}}), "ok") << key << " " << value;
  }
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"share.auto.offset.reset", "by_duration:PT1H"},
           {"streams.rack.aware.assignment.tags", "a,b"},
           {"streams.assignor.name", "sticky"},
           {"streams.num.warmup.replicas", "2"},
           {"errors.deadletterqueue.topic.name", "dlq.x"}}) {
    EXPECT_EQ(group_verdict({{key, value}}), "ok") << key << " " << value;
  }
}

TEST(ValidateGroupConfigs, AHeartbeatIsShorterThanASession) {
  EXPECT_EQ(group_verdict({{"consumer.heartbeat.interval.ms", "45000"}},
                          {"group.consumer.max.heartbeat.interval.ms=50000"}),
            "consumer.heartbeat.interval.ms (45000) must be less than consumer.session.timeout.ms "
            "(45000)");
}

}  // namespace
}  // namespace weir::config

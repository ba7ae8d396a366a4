// The expected lines are what a broker of Apache Kafka 4.4 answered to DescribeConfigs with the
// same configuration, except where a comment says otherwise.
#include "config/describe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace weir::config {
namespace {

BrokerLayers layers(std::vector<std::string> sets = {}) {
  auto fixed = merge_sources({.sets = std::move(sets)});
  EXPECT_TRUE(fixed) << fixed.error().message;
  return *make_layers(*std::move(fixed), {.host_name = "box", .cores = 4});
}

// The broker that was asked: static values, then changes while it ran.
BrokerLayers changed_broker() {
  BrokerLayers broker = layers({"node.id=1", "log.retention.hours=100", "log.roll.ms=5000000",
                                "ssl.keystore.password=secret1", "num.partitions=1"});
  broker.dynamic_broker = {{"log.retention.ms", "-5"}, {"message.max.bytes", "1000000"}};
  broker.dynamic_default = {{"log.retention.ms", "2000000"}};
  return broker;
}

std::string_view source_name(ConfigSource source) {
  switch (source) {
    case ConfigSource::kDynamicTopic:
      return "DYNAMIC_TOPIC_CONFIG";
    case ConfigSource::kDynamicBroker:
      return "DYNAMIC_BROKER_CONFIG";
    case ConfigSource::kDynamicDefaultBroker:
      return "DYNAMIC_DEFAULT_BROKER_CONFIG";
    case ConfigSource::kStaticBroker:
      return "STATIC_BROKER_CONFIG";
    case ConfigSource::kDefault:
      return "DEFAULT_CONFIG";
    case ConfigSource::kGroup:
      return "DYNAMIC_GROUP_CONFIG";
    default:
      return "?";
  }
}

const ConfigEntry* find(const std::vector<ConfigEntry>& entries, std::string_view name) {
  const auto found =
      std::ranges::find_if(entries, [&](const ConfigEntry& e) { return e.key->name == name; });
  return found == entries.end() ? nullptr : &*found;
}

// "value SOURCE | SOURCE:name=value ..."
std::string line(const std::vector<ConfigEntry>& entries, std::string_view name) {
  const ConfigEntry* entry = find(entries, name);
  if (entry == nullptr) return "not there";
  std::string text =
      fmt::format("{} {} |", entry->value.value_or("null"), source_name(entry->source));
  for (const ConfigSynonym& synonym : entry->synonyms) {
    text += fmt::format(" {}:{}={}", source_name(synonym.source), synonym.name,
                        synonym.value.value_or("null"));
  }
  return text;
}

TEST(DescribeTopic, Defaults) {
  const auto entries = describe_topic({}, layers());
  EXPECT_EQ(entries.size(), 37U);
  EXPECT_EQ(line(entries, "cleanup.policy"),
            "delete DEFAULT_CONFIG | DEFAULT_CONFIG:log.cleanup.policy=delete");
  EXPECT_EQ(line(entries, "max.message.bytes"),
            "1048588 DEFAULT_CONFIG | DEFAULT_CONFIG:message.max.bytes=1048588");
  EXPECT_EQ(line(entries, "flush.ms"), "9223372036854775807 DEFAULT_CONFIG |");
  EXPECT_EQ(line(entries, "segment.jitter.ms"), "0 DEFAULT_CONFIG |");
  EXPECT_EQ(line(entries, "retention.ms"), "604800000 DEFAULT_CONFIG |");
  EXPECT_EQ(line(entries, "remote.storage.enable"), "false DEFAULT_CONFIG |");
  EXPECT_EQ(line(entries, "leader.replication.throttled.replicas"), " DEFAULT_CONFIG |");
  EXPECT_EQ(line(entries, "internal.segment.bytes"), "not there");
  for (const ConfigEntry& entry : entries) {
    EXPECT_FALSE(entry.read_only) << entry.key->name;
    EXPECT_FALSE(entry.sensitive) << entry.key->name;
    EXPECT_TRUE(entry.is_default()) << entry.key->name;
  }
}

TEST(DescribeTopic, LayersInOrder) {
  const auto entries = describe_topic({{"retention.ms", "5"}}, changed_broker());
  EXPECT_EQ(line(entries, "retention.ms"),
            "5 DYNAMIC_TOPIC_CONFIG | DYNAMIC_TOPIC_CONFIG:retention.ms=5 "
            "DYNAMIC_BROKER_CONFIG:log.retention.ms=-5 "
            "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=2000000 "
            "STATIC_BROKER_CONFIG:log.retention.hours=100 DEFAULT_CONFIG:log.retention.hours=168");
  EXPECT_EQ(line(entries, "segment.ms"),
            "5000000 STATIC_BROKER_CONFIG | STATIC_BROKER_CONFIG:log.roll.ms=5000000 "
            "DEFAULT_CONFIG:log.roll.hours=168");
  EXPECT_EQ(line(entries, "max.message.bytes"),
            "1000000 DYNAMIC_BROKER_CONFIG | DYNAMIC_BROKER_CONFIG:message.max.bytes=1000000 "
            "DEFAULT_CONFIG:message.max.bytes=1048588");
}

TEST(DescribeTopic, BrokersValuesInTheTopicsUnit) {
  EXPECT_EQ(line(describe_topic({}, changed_broker()), "retention.ms").substr(0, 24),
            "-1 DYNAMIC_BROKER_CONFIG");
  // Kafka gives no layers here: none before the default has the first name, log.retention.ms.
  EXPECT_EQ(line(describe_topic({}, layers({"log.retention.hours=100"})), "retention.ms"),
            "360000000 DEFAULT_CONFIG |");
}

TEST(DescribeTopic, AnOverrideEqualToTheDefaultIsStillAnOverride) {
  const auto entries =
      describe_topic({{"cleanup.policy", " delete "}, {"preallocate", "FALSE"}}, layers());
  EXPECT_EQ(line(entries, "cleanup.policy"),
            "delete DYNAMIC_TOPIC_CONFIG | DYNAMIC_TOPIC_CONFIG:cleanup.policy=delete "
            "DEFAULT_CONFIG:log.cleanup.policy=delete");
  EXPECT_EQ(line(entries, "preallocate"),
            "false DYNAMIC_TOPIC_CONFIG | DYNAMIC_TOPIC_CONFIG:preallocate=false "
            "DEFAULT_CONFIG:log.preallocate=false");
  EXPECT_FALSE(find(entries, "preallocate")->is_default());
}

TEST(DescribeTopic, InternalKeysWhereTheyAreSet) {
  EXPECT_EQ(line(describe_topic({{"internal.segment.bytes", "1000"}}, layers()),
                 "internal.segment.bytes"),
            "1000 DYNAMIC_TOPIC_CONFIG | DYNAMIC_TOPIC_CONFIG:internal.segment.bytes=1000");
}

TEST(DescribeBroker, LayersInOrder) {
  const auto entries = describe_broker(changed_broker());
  EXPECT_EQ(line(entries, "log.retention.ms"),
            "-5 DYNAMIC_BROKER_CONFIG | DYNAMIC_BROKER_CONFIG:log.retention.ms=-5 "
            "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=2000000 "
            "STATIC_BROKER_CONFIG:log.retention.hours=100 "
            "DEFAULT_CONFIG:log.retention.hours=168");
  EXPECT_EQ(line(entries, "log.retention.hours"),
            "100 STATIC_BROKER_CONFIG | STATIC_BROKER_CONFIG:log.retention.hours=100 "
            "DEFAULT_CONFIG:log.retention.hours=168");
  EXPECT_EQ(line(entries, "log.retention.minutes"), "null DEFAULT_CONFIG |");
  EXPECT_EQ(line(entries, "log.roll.ms"),
            "5000000 STATIC_BROKER_CONFIG | STATIC_BROKER_CONFIG:log.roll.ms=5000000 "
            "DEFAULT_CONFIG:log.roll.hours=168");
  EXPECT_EQ(line(entries, "node.id"), "1 STATIC_BROKER_CONFIG | STATIC_BROKER_CONFIG:node.id=1");
  EXPECT_EQ(
      line(entries, "broker.id"),
      "1 STATIC_BROKER_CONFIG | STATIC_BROKER_CONFIG:broker.id=1 DEFAULT_CONFIG:broker.id=-1");
  EXPECT_EQ(line(entries, "num.partitions"),
            "1 STATIC_BROKER_CONFIG | STATIC_BROKER_CONFIG:num.partitions=1 "
            "DEFAULT_CONFIG:num.partitions=1");
  EXPECT_EQ(line(entries, "advertised.listeners"), "null DEFAULT_CONFIG |");
}

TEST(DescribeBroker, PasswordsAreNotShown) {
  const auto entries = describe_broker(changed_broker());
  EXPECT_EQ(line(entries, "ssl.keystore.password"),
            "null STATIC_BROKER_CONFIG | STATIC_BROKER_CONFIG:ssl.keystore.password=null");
  EXPECT_TRUE(find(entries, "ssl.keystore.password")->sensitive);
  EXPECT_EQ(line(entries, "sasl.jaas.config"), "null DEFAULT_CONFIG |");
  EXPECT_TRUE(find(entries, "sasl.jaas.config")->sensitive);
}

TEST(DescribeBroker, PasswordsInUrlsAreNotShown) {
  const auto entries =
      describe_broker(layers({"node.id=1", "metadata.log.url=postgres://me:secret@db/weir"}));
  EXPECT_EQ(line(entries, "metadata.log.url").find("secret"), std::string::npos);
  EXPECT_NE(line(entries, "metadata.log.url").find("postgres://me:****@db/weir"),
            std::string::npos);
}

TEST(DescribeBroker, ReadOnlyIsWhatTheTableCallsStatic) {
  const auto entries = describe_broker(layers());
  EXPECT_TRUE(find(entries, "num.partitions")->read_only);
  EXPECT_TRUE(find(entries, "log.retention.hours")->read_only);
  EXPECT_FALSE(find(entries, "log.retention.ms")->read_only);
  EXPECT_FALSE(find(entries, "ssl.keystore.type")->read_only);
}

TEST(DescribeBroker, InternalKeysWhereTheyAreSet) {
  EXPECT_EQ(find(describe_broker(layers()), "unstable.api.versions.enable"), nullptr);
  EXPECT_NE(find(describe_broker(layers({"unstable.api.versions.enable=true"})),
                 "unstable.api.versions.enable"),
            nullptr);
  BrokerLayers broker = layers();
  broker.dynamic_broker["leader.replication.throttled.rate"] = "1000";
  EXPECT_EQ(line(describe_broker(broker), "leader.replication.throttled.rate").substr(0, 26),
            "1000 DYNAMIC_BROKER_CONFIG");
}

TEST(DescribeBroker, DefaultsThatDependOnTheMachine) {
  EXPECT_EQ(line(describe_broker(layers()), "num.network.threads"),
            "4 DEFAULT_CONFIG | DEFAULT_CONFIG:num.network.threads=4");
}

TEST(DescribeClusterDefault, OnlyWhatIsSetForAllBrokers) {
  const auto entries = describe_cluster_default(changed_broker());
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(line(entries, "log.retention.ms"),
            "2000000 DYNAMIC_DEFAULT_BROKER_CONFIG | "
            "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=2000000");
}

TEST(DescribeGroup, LayersInOrder) {
  const auto entries = describe_group(
      {{"consumer.session.timeout.ms", "50000"}, {"share.auto.offset.reset", "by_duration:PT1H"}},
      layers({"group.consumer.session.timeout.ms=50000"}));
  EXPECT_EQ(line(entries, "consumer.session.timeout.ms"),
            "50000 DYNAMIC_GROUP_CONFIG | DYNAMIC_GROUP_CONFIG:consumer.session.timeout.ms=50000 "
            "STATIC_BROKER_CONFIG:group.consumer.session.timeout.ms=50000 "
            "DEFAULT_CONFIG:group.consumer.session.timeout.ms=45000");
  EXPECT_EQ(line(entries, "share.auto.offset.reset"),
            "by_duration:PT1H DYNAMIC_GROUP_CONFIG | "
            "DYNAMIC_GROUP_CONFIG:share.auto.offset.reset=by_duration:PT1H "
            "DEFAULT_CONFIG:share.auto.offset.reset=latest");
}

// What Kafka answered for a group of which nothing was set: key, value, broker key.
TEST(DescribeGroup, Defaults) {
  const auto entries = describe_group({}, layers());
  const std::vector<std::array<std::string_view, 3>> expected = {
      {"consumer.assignment.interval.ms", "1000", "group.consumer.assignment.interval.ms=1000"},
      {"consumer.heartbeat.interval.ms", "5000", "group.consumer.heartbeat.interval.ms=5000"},
      {"consumer.session.timeout.ms", "45000", "group.consumer.session.timeout.ms=45000"},
      {"errors.deadletterqueue.copy.record.enable", "false",
       "errors.deadletterqueue.copy.record.enable=false"},
      {"errors.deadletterqueue.topic.name", "", "errors.deadletterqueue.topic.name="},
      {"share.assignment.interval.ms", "1000", "group.share.assignment.interval.ms=1000"},
      {"share.auto.offset.reset", "latest", "share.auto.offset.reset=latest"},
      {"share.delivery.count.limit", "5", "group.share.delivery.count.limit=5"},
      {"share.heartbeat.interval.ms", "5000", "group.share.heartbeat.interval.ms=5000"},
      {"share.isolation.level", "read_uncommitted", "share.isolation.level=read_uncommitted"},
      {"share.partition.max.record.locks", "2000", "group.share.partition.max.record.locks=2000"},
      {"share.record.lock.duration.ms", "30000", "group.share.record.lock.duration.ms=30000"},
      {"share.renew.acknowledge.enable", "true", "share.renew.acknowledge.enable=true"},
      {"share.session.timeout.ms", "45000", "group.share.session.timeout.ms=45000"},
      {"streams.assignment.interval.ms", "1000", "group.streams.assignment.interval.ms=1000"},
      {"streams.assignor.name", "sticky", "group.streams.assignors=sticky"},
      {"streams.heartbeat.interval.ms", "5000", "group.streams.heartbeat.interval.ms=5000"},
      {"streams.initial.rebalance.delay.ms", "3000",
       "group.streams.initial.rebalance.delay.ms=3000"},
      {"streams.num.standby.replicas", "0", "group.streams.num.standby.replicas=0"},
      {"streams.rack.aware.assignment.tags", "", "group.streams.rack.aware.assignment.tags="},
      {"streams.session.timeout.ms", "45000", "group.streams.session.timeout.ms=45000"},
  };
  EXPECT_EQ(entries.size(), expected.size());
  for (const auto& [name, value, synonym] : expected) {
    EXPECT_EQ(line(entries, name),
              fmt::format("{} DEFAULT_CONFIG | DEFAULT_CONFIG:{}", value, synonym))
        << name;
  }
}

TEST(Documentation, SaysWhatHasNoEffect) {
  EXPECT_EQ(
      documentation(*find_key(Scope::kTopic, "segment.ms")),
      "A log file is closed after this time even when it is not full. No effect in Weir: There "
      "are no log files: records are in the object store.");
  EXPECT_EQ(documentation(*find_key(Scope::kTopic, "compression.lz4.level")),
            "The level of lz4 where the broker compresses.");
}

}  // namespace
}  // namespace weir::config

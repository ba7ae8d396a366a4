#include "config/broker_config.h"

#include <gtest/gtest.h>

namespace weir::config {
namespace {

const Machine kMachine{.host_name = "box.example", .cores = 6};

Result<BrokerConfig> build(std::vector<std::string> sets, Permissions permissions = {}) {
  auto fixed = merge_sources({.sets = std::move(sets)});
  if (!fixed) return std::unexpected(fixed.error());
  auto layers = make_layers(*std::move(fixed), kMachine);
  if (!layers) return std::unexpected(layers.error());
  return make_broker_config(*layers, kMachine, permissions);
}

std::string error_of(std::vector<std::string> sets) {
  const auto config = build(std::move(sets));
  return config ? "no error" : config.error().message;
}

TEST(BrokerConfig, ZonesOfClients) {
  const auto config = build({"listeners=PLAINTEXT://:9092,EAST://:9093",
                             "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,EAST:PLAINTEXT",
                             "zone.listeners=east=a", "zone.cidrs=10.0.0.0/8=b, 10.1.0.0/16=c"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->zones.by_listener.at("EAST"), "a");
  EXPECT_EQ(zone_of_address(config->zones, "10.1.0.7"), "c");
  EXPECT_TRUE(build({})->zones.networks.empty());
  EXPECT_NE(error_of({"zone.listeners=EAST=a"}).find("there is no listener EAST"),
            std::string::npos);
  EXPECT_NE(error_of({"zone.cidrs=10.0.0.1/8=a"}).find("that network is 10.0.0.0/8"),
            std::string::npos);
}

// The defaults of Kafka 4.4 and of Weir's own keys.
TEST(BrokerConfig, Defaults) {
  const auto config = build({});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->node_id, 1);
  EXPECT_EQ(config->rack, "");
  ASSERT_EQ(config->listeners.size(), 1U);
  EXPECT_EQ(config->listeners[0].bind, (HostPort{"", 9092}));
  EXPECT_EQ(config->listeners[0].advertised, (HostPort{"box.example", 9092}));
  EXPECT_EQ(config->http_listener, (HostPort{"", 9404}));
  EXPECT_EQ(config->object_store_url, "file:data/objects");
  EXPECT_EQ(config->metadata.log_url.reveal(), "sqlite:data/metadata.db");
  EXPECT_EQ(config->metadata.session_timeout_ms, 3000);
  EXPECT_EQ(config->metadata.heartbeat_interval_ms, 1000);
  EXPECT_EQ(config->metadata.snapshot_after_bytes, 20'971'520);
  EXPECT_EQ(config->metadata.snapshot_after_ms, 3'600'000);
  EXPECT_EQ(config->memory_budget_bytes, 1_GiB);
  EXPECT_EQ(config->cache_max_bytes, 512_MiB);
  EXPECT_EQ(config->append.commit_interval_ms, 250);
  EXPECT_EQ(config->append.buffer_max_bytes, 8_MiB);
  EXPECT_EQ(config->append.upload_max_inflight, 8);
  EXPECT_EQ(config->connections.threads, 6U);
  EXPECT_EQ(config->connections.max_connections, 2147483647);
  EXPECT_EQ(config->connections.max_idle_ms, 600'000);
  EXPECT_EQ(config->connections.max_request_bytes, 100_MiB);
  EXPECT_EQ(config->connections.listen_backlog, 50);
  EXPECT_EQ(config->connections.send_buffer_bytes, 102'400);
  EXPECT_EQ(config->fetch.max_bytes, 57'671'680);
  EXPECT_EQ(config->fetch.max_sessions, 1000);
  EXPECT_TRUE(config->new_topics.auto_create);
  EXPECT_TRUE(config->new_topics.deletion_allowed);
  EXPECT_EQ(config->new_topics.partitions, 1);
  EXPECT_EQ(config->new_topics.replication_factor, 1);
  EXPECT_EQ(config->groups.initial_rebalance_delay_ms, 3000);
  EXPECT_EQ(config->groups.min_session_timeout_ms, 6000);
  EXPECT_EQ(config->groups.max_session_timeout_ms, 1'800'000);
  EXPECT_EQ(config->groups.max_size, 2147483647);
  EXPECT_EQ(config->groups.offset_metadata_max_bytes, 4096);
  EXPECT_EQ(config->groups.offsets_retention_ms, 7LL * 24 * 60 * 60 * 1000);
  EXPECT_EQ(config->groups.offsets_retention_check_interval_ms, 600'000);
  EXPECT_EQ(config->retention_check_interval_ms, 300'000);
  EXPECT_EQ(config->producer_id_expiration_ms, 86'400'000);
  EXPECT_EQ(config->max_topic_partitions_per_answer, 2000);
  EXPECT_EQ(config->log_format, log::Format::kText);
  EXPECT_EQ(config->log_level, log::Level::kInfo);
  EXPECT_TRUE(config->warnings.empty());
}

TEST(BrokerConfig, TakesWhatIsSet) {
  const auto config = build({"node.id=7", "broker.rack=zone-a", "listeners=PLAINTEXT://127.0.0.1:0",
                             "http.listener=", "num.network.threads=2", "cache.max.bytes=1000",
                             "auto.create.topics.enable=false", "num.partitions=12",
                             "log.format=json", "log.level=debug", "offsets.retention.minutes=1"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->node_id, 7);
  EXPECT_EQ(config->rack, "zone-a");
  EXPECT_EQ(config->listeners[0].advertised, (HostPort{"127.0.0.1", 0}));
  EXPECT_EQ(config->http_listener, std::nullopt);
  EXPECT_EQ(config->connections.threads, 2U);
  EXPECT_EQ(config->cache_max_bytes, 1000U);
  EXPECT_FALSE(config->new_topics.auto_create);
  EXPECT_EQ(config->new_topics.partitions, 12);
  EXPECT_EQ(config->log_format, log::Format::kJson);
  EXPECT_EQ(config->log_level, log::Level::kDebug);
  EXPECT_EQ(config->groups.offsets_retention_ms, 60'000);
}

TEST(BrokerConfig, TheListenerOfBrokersIsOneOfTheListeners) {
  const std::string two = "listeners=PLAINTEXT://127.0.0.1:0,INSIDE://127.0.0.1:0";
  const std::string map = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT";
  EXPECT_EQ(build({two, map})->inter_broker_listener, "");
  EXPECT_EQ(build({two, map, "inter.broker.listener.name=inside"})->inter_broker_listener,
            "INSIDE");
  EXPECT_EQ(
      error_of({two, map, "inter.broker.listener.name=OUTSIDE"}),
      "inter.broker.listener.name: OUTSIDE is none of listeners, give the name of one of them");
}

TEST(BrokerConfig, TheCacheIsHalfOfTheBudgetWhenNotSet) {
  EXPECT_EQ(build({"memory.budget.bytes=268435456"})->cache_max_bytes, 128_MiB);
}

TEST(BrokerConfig, ASharedMetadataLogNeedsANodeId) {
  EXPECT_TRUE(error_of({"metadata.log.url=postgres://host/db"}).starts_with("node.id must be set"));
  EXPECT_EQ(build({"metadata.log.url=postgres://host/db", "node.id=3"})->node_id, 3);
  EXPECT_EQ(build({"metadata.log.url=postgres://host/db", "broker.id=4"})->node_id, 4);
}

TEST(BrokerConfig, TheTwoNamesOfTheNodeIdMustAgree) {
  EXPECT_EQ(build({"broker.id=4"})->node_id, 4);
  EXPECT_EQ(build({"broker.id=4", "node.id=4"})->node_id, 4);
  EXPECT_EQ(error_of({"broker.id=4", "node.id=5"}),
            "broker.id (4) and node.id (5) must be the same");
}

TEST(BrokerConfig, VolatileBackendsNeedDev) {
  EXPECT_EQ(error_of({"object.store.url=memory:"}),
            "object.store.url: memory: loses everything when the broker ends; it is allowed with "
            "--dev only");
  EXPECT_EQ(error_of({"metadata.log.url=memory:"}),
            "metadata.log.url: memory: loses everything when the broker ends; it is allowed with "
            "--dev only");
  EXPECT_TRUE(
      build({"object.store.url=memory:", "metadata.log.url=memory:"}, {.volatile_backends = true}));
}

TEST(BrokerConfig, EarlyObjectsAreFreeInAFolder) {
  EXPECT_EQ(build({})->append.early_puts_per_second, std::nullopt);
  EXPECT_EQ(build({"diskless.append.early.puts.per.second=0"})->append.early_puts_per_second, 0);
  EXPECT_EQ(build({"diskless.append.early.puts.per.second=-1"})->append.early_puts_per_second,
            std::nullopt);
  EXPECT_EQ(build({"object.store.url=s3://bucket"})->append.early_puts_per_second, 10);
}

TEST(BrokerConfig, BrokersShowThemselvesMoreSeldomWhereAppendsHaveAPrice) {
  const auto config = build({"metadata.log.url=object:", "node.id=1"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->metadata.session_timeout_ms, 30'000);
  EXPECT_EQ(config->metadata.heartbeat_interval_ms, 20'000);
  const auto chosen = build({"metadata.log.url=object:", "node.id=1",
                             "broker.session.timeout.ms=8000", "broker.heartbeat.interval.ms=10"});
  EXPECT_EQ(chosen->metadata.session_timeout_ms, 8000);
  EXPECT_EQ(chosen->metadata.heartbeat_interval_ms, 10);
  EXPECT_EQ(
      error_of({"metadata.log.url=object:", "node.id=1", "broker.session.timeout.ms=20000"}),
      "broker.heartbeat.interval.ms (20000) must be less than broker.session.timeout.ms (20000)");
}

TEST(BrokerConfig, DelaysNeedDev) {
  EXPECT_EQ(error_of({"dev.latency=put=1/2"}),
            "dev.latency: makes the broker slow for trying; it is allowed with --dev only");
  EXPECT_EQ(build({"dev.latency=put=1/2"}, {.volatile_backends = true})->dev_latency.put.p99,
            std::chrono::milliseconds(2));
}

TEST(BrokerConfig, UrlsHaveAKind) {
  EXPECT_EQ(error_of({"object.store.url=/data"}),
            "object.store.url: must begin with a kind and a colon, for example file:data/objects");
  EXPECT_EQ(
      error_of({"metadata.log.url=", "node.id=1"}),
      "metadata.log.url: must begin with a kind and a colon, for example sqlite:data/metadata.db");
}

TEST(BrokerConfig, ValuesMustGoTogether) {
  EXPECT_EQ(
      error_of({"group.min.session.timeout.ms=10000", "group.max.session.timeout.ms=9999"}),
      "group.min.session.timeout.ms (10000) must be at most group.max.session.timeout.ms (9999)");
  EXPECT_EQ(
      error_of({"broker.heartbeat.interval.ms=3000"}),
      "broker.heartbeat.interval.ms (3000) must be less than broker.session.timeout.ms (3000)");
  EXPECT_EQ(error_of({"cache.max.bytes=1073741825"}),
            "cache.max.bytes (1073741825) must be at most memory.budget.bytes (1073741824)");
  EXPECT_EQ(error_of({"diskless.append.buffer.max.bytes=536870913"}),
            "diskless.append.buffer.max.bytes (536870913) must be at most memory.budget.bytes less "
            "cache.max.bytes (536870912)");
}

TEST(BrokerConfig, ValuesThatKafkaChecksBesideItsTable) {
  EXPECT_EQ(error_of({"log.retention.ms=0"}),
            "log.retention.ms: must be at least 1, or -1 to keep records for ever");
  EXPECT_EQ(error_of({"log.retention.hours=0"}),
            "log.retention.hours: must be at least 1, or -1 to keep records for ever");
  EXPECT_EQ(error_of({"log.retention.ms=-1"}), "no error");
  EXPECT_EQ(error_of({"log.roll.ms=0"}), "log.roll.ms: must be at least 1");
  EXPECT_EQ(error_of({"default.replication.factor=0"}),
            "default.replication.factor: 0 must be from 1 to 32767");
}

TEST(BrokerConfig, AnHttpListenerIsHostAndPort) {
  EXPECT_EQ(error_of({"http.listener=9404"}), "http.listener: 9404: must be host:port");
  EXPECT_EQ(build({"http.listener=[::1]:80"})->http_listener, (HostPort{"::1", 80}));
}

TEST(BrokerConfig, AMessageGreaterThanARequestIsAWarning) {
  const auto config = build({"socket.request.max.bytes=1000"});
  ASSERT_TRUE(config);
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_TRUE(config->warnings[0].starts_with("message.max.bytes (1048588) is more than"));
}

TEST(BrokerConfig, NoRequestIsLargerThanTheMemoryForRequests) {
  EXPECT_EQ(build({})->connections.max_request_bytes, 100_MiB);
  EXPECT_TRUE(build({})->warnings.empty());
  const auto config = build({"memory.budget.bytes=67108864"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->connections.max_request_bytes, 16_MiB);
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_EQ(config->warnings[0],
            "socket.request.max.bytes (104857600) is more than memory.budget.bytes (67108864) has "
            "for requests: half of what cache.max.bytes (33554432) leaves; requests of more than "
            "16777216 bytes are refused");
  const auto exact = build({"memory.budget.bytes=67108864", "socket.request.max.bytes=16777216"});
  EXPECT_EQ(exact->connections.max_request_bytes, 16_MiB);
  EXPECT_TRUE(exact->warnings.empty());
}

TEST(Layers, TheStrongestCountsAndAWrongOneIsPassedOver) {
  auto layers = *make_layers(*merge_sources({.sets = {"message.max.bytes=3"}}), kMachine);
  EXPECT_EQ(broker_number(layers, "message.max.bytes"), 3);
  layers.dynamic_default["message.max.bytes"] = "2";
  EXPECT_EQ(broker_number(layers, "message.max.bytes"), 2);
  layers.dynamic_broker["message.max.bytes"] = " 1 ";
  EXPECT_EQ(broker_number(layers, "message.max.bytes"), 1);
  layers.dynamic_broker["message.max.bytes"] = "what";
  EXPECT_EQ(broker_number(layers, "message.max.bytes"), 1048588);
  EXPECT_EQ(broker_value(layers, "broker.rack"), std::nullopt);
}

}  // namespace
}  // namespace weir::config

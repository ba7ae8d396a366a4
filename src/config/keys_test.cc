// Checks the table of keys against Kafka's own (tests/reference/kafka_configs.tsv).
#include "config/keys.h"

#include "config/sources.h"
#include "config/value.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace weir::config {
namespace {

struct Row {
  std::string scope, name, type, default_text, valid, importance, update, internal, sources;
};

std::vector<Row> kafka_rows() {
  std::ifstream file(WEIR_TEST_REFERENCE "/kafka_configs.tsv");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream columns(line);
    Row row;
    for (std::string* column : {&row.scope, &row.name, &row.type, &row.default_text, &row.valid,
                                &row.importance, &row.update, &row.internal, &row.sources}) {
      std::getline(columns, *column, '\t');
    }
    rows.push_back(row);
  }
  return rows;
}

Scope scope_of(const std::string& name) {
  return name == "topic" ? Scope::kTopic : name == "group" ? Scope::kGroup : Scope::kBroker;
}

// Our key in the form of Kafka's row.
Row as_row(const std::string& scope, const ConfigKey& key) {
  Row row{.scope = scope, .name = std::string(key.name)};
  row.type = to_string(key.type);
  for (char& c : row.type) c = static_cast<char>(std::tolower(c));
  row.default_text = key.default_kind == DefaultKind::kNull       ? "null"
                     : key.default_kind == DefaultKind::kRequired ? "(required)"
                     : key.default_text.empty()                   ? "(empty)"
                                                                  : std::string(key.default_text);
  row.valid = key.valid.text.empty() ? "-" : key.valid.text;
  row.importance = key.importance == Importance::kHigh     ? "high"
                   : key.importance == Importance::kMedium ? "medium"
                                                           : "low";
  row.update = scope != "broker"                  ? "-"
               : key.update == Update::kStatic    ? "read-only"
               : key.update == Update::kPerBroker ? "per-broker"
                                                  : "cluster-wide";
  row.internal = key.internal ? "internal" : "-";
  for (const DefaultSource& source : key.sources) {
    row.sources +=
        fmt::format("{}{}*{}", row.sources.empty() ? "" : " ", source.name, source.factor);
  }
  if (row.sources.empty()) row.sources = "-";
  return row;
}

// The columns of a row that we have otherwise on purpose.
const std::map<std::string, std::set<std::string>> kDifferences = {
    {"num.network.threads", {"default", "update"}},  // one per core; the loops are made at start
    {"listeners", {"update"}},                       // opened at start
    {"broker.session.timeout.ms", {"default"}},      // clients must not wait (ADR 12)
    {"broker.heartbeat.interval.ms", {"default"}},
    {"listener.security.protocol.map", {"update"}},
};

void expect_same(const Row& ours, const Row& kafka) {
  auto differs = [&](const std::string& column) {
    const auto found = kDifferences.find(kafka.name);
    return found != kDifferences.end() && found->second.contains(column);
  };
  EXPECT_EQ(ours.type, kafka.type) << kafka.name;
  std::string default_text = kafka.default_text;
  if (default_text.starts_with("class ")) default_text = default_text.substr(6);
  EXPECT_EQ(ours.default_text == default_text, !differs("default")) << kafka.name;
  EXPECT_EQ(ours.valid, kafka.valid.empty() ? "-" : kafka.valid) << kafka.name;
  EXPECT_EQ(ours.importance, kafka.importance) << kafka.name;
  EXPECT_EQ(ours.update == kafka.update, !differs("update")) << kafka.name << " " << ours.update;
  EXPECT_EQ(ours.internal, kafka.internal) << kafka.name;
  // Kafka has no such table for groups; describe_test.cc checks theirs.
  if (kafka.scope != "group") EXPECT_EQ(ours.sources, kafka.sources) << kafka.name;
}

TEST(KeyTable, HasEveryKafkaKeyAsKafkaHasIt) {
  const auto rows = kafka_rows();
  ASSERT_EQ(rows.size(), 444U);
  for (const Row& row : rows) {
    const ConfigKey* key = find_key(scope_of(row.scope), row.name);
    ASSERT_NE(key, nullptr) << row.name;
    expect_same(as_row(row.scope, *key), row);
  }
}

TEST(KeyTable, HasNothingElseButWeirsOwnKeys) {
  std::set<std::string> kafka;
  for (const Row& row : kafka_rows()) kafka.insert(row.scope + " " + row.name);
  std::set<std::string> own;
  for (const auto& [scope, name] : {std::pair{Scope::kTopic, "topic "},
                                    {Scope::kGroup, "group "},
                                    {Scope::kBroker, "broker "}}) {
    for (const ConfigKey& key : keys(scope)) {
      const std::string full = name + std::string(key.name);
      if (!kafka.contains(full)) own.insert(full);
    }
  }
  EXPECT_EQ(own, (std::set<std::string>{"broker cache.max.bytes",
                                        "broker diskless.append.buffer.max.bytes",
                                        "broker dev.latency",
                                        "broker diskless.append.commit.interval.ms",
                                        "broker diskless.append.early.puts.per.second",
                                        "broker diskless.append.upload.max.inflight",
                                        "broker follower.replication.throttled.rate",
                                        "broker http.listener",
                                        "broker leader.replication.throttled.rate",
                                        "broker log.format",
                                        "broker log.level",
                                        "broker memory.budget.bytes",
                                        "broker metadata.log.allow.unsafe",
                                        "broker metadata.log.max.entries.between.snapshots",
                                        "broker metadata.log.url",
                                        "broker object.delete.grace.ms",
                                        "broker object.orphan.grace.ms",
                                        "broker object.orphan.scan.interval.ms",
                                        "broker object.store.url",
                                        "broker replica.alter.log.dirs.io.max.bytes.per.second",
                                        "broker zone.cidrs",
                                        "broker zone.listeners"}));
}

TEST(KeyTable, EveryDefaultIsValidAndCanonical) {
  for (Scope scope : {Scope::kTopic, Scope::kBroker, Scope::kGroup}) {
    for (const ConfigKey& key : keys(scope)) {
      if (key.default_kind != DefaultKind::kText) continue;
      const auto value = parse_value(key, key.default_text);
      ASSERT_TRUE(value) << value.error().to_string();
      EXPECT_EQ(to_text(*value), key.default_text) << key.name;
    }
  }
}

TEST(KeyTable, EveryUnusedKeySaysWhy) {
  for (Scope scope : {Scope::kTopic, Scope::kBroker, Scope::kGroup}) {
    for (const ConfigKey& key : keys(scope)) {
      EXPECT_FALSE(key.doc.empty()) << key.name;
      if (!key.used) EXPECT_FALSE(key.note.empty()) << key.name;
    }
  }
}

TEST(KeyTable, EnvironmentNamesAreUnambiguous) {
  std::map<std::string, std::string_view> names;
  for (const ConfigKey& key : keys(Scope::kBroker)) {
    const auto [other, fresh] = names.emplace(environment_name(key.name), key.name);
    EXPECT_TRUE(fresh) << key.name << " and " << other->second;
  }
}

TEST(FindKey, FindsExactNamesOnly) {
  ASSERT_NE(find_key(Scope::kTopic, "retention.ms"), nullptr);
  EXPECT_EQ(find_key(Scope::kTopic, "retention.ms")->name, "retention.ms");
  EXPECT_EQ(find_key(Scope::kBroker, "retention.ms"), nullptr);
  EXPECT_EQ(find_key(Scope::kTopic, "retention.m"), nullptr);
  EXPECT_EQ(find_key(Scope::kTopic, ""), nullptr);
  EXPECT_EQ(find_key(Scope::kTopic, "zzz"), nullptr);
}

TEST(IgnoredKeys, AreNamesAndPrefixes) {
  EXPECT_TRUE(is_ignored_key("zookeeper.connect"));
  EXPECT_TRUE(is_ignored_key("inter.broker.protocol.version"));
  EXPECT_TRUE(is_ignored_key("listener.name.internal.ssl.keystore.location"));
  EXPECT_FALSE(is_ignored_key("zookeeper."));
  EXPECT_FALSE(is_ignored_key("inter.broker.protocol.version.x"));
  EXPECT_FALSE(is_ignored_key("num.partition"));
}

TEST(Suggestion, NamesTheNearestKey) {
  EXPECT_EQ(suggestion(Scope::kBroker, "num.partition"), " (did you mean num.partitions?)");
  EXPECT_EQ(suggestion(Scope::kBroker, "advertised.listener"),
            " (did you mean advertised.listeners?)");
  EXPECT_EQ(suggestion(Scope::kTopic, "retention.sm"), " (did you mean retention.ms?)");
  EXPECT_EQ(suggestion(Scope::kBroker, "something.else.entirely"), "");
  EXPECT_EQ(suggestion(Scope::kBroker, std::string(100'000, 'a')), "");
}

}  // namespace
}  // namespace weir::config

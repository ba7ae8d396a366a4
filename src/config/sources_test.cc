#include "config/sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace weir::config {
namespace {

Sources from_file(std::string text) {
  return {.file = FileText{"weir.properties", std::move(text)}};
}

std::string value_of(const StaticSettings& settings, const std::string& key) {
  const auto found = settings.values.find(key);
  return found == settings.values.end() ? "not set"
                                        : found->second.value + " from " + found->second.origin;
}

std::string error_of(const Sources& sources) {
  const auto merged = merge_sources(sources);
  return merged ? "no error" : merged.error().message;
}

TEST(MergeSources, LaterSourcesWin) {
  Sources sources = from_file("node.id=1\nnum.partitions=2\nmessage.max.bytes=3\n");
  sources.environment = {{"WEIR_NUM_PARTITIONS", "20"}, {"WEIR_MESSAGE_MAX_BYTES", "30"}};
  sources.sets = {"message.max.bytes=300"};
  const auto merged = merge_sources(sources);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(value_of(*merged, "node.id"), "1 from weir.properties:1");
  EXPECT_EQ(value_of(*merged, "num.partitions"),
            "20 from environment variable WEIR_NUM_PARTITIONS");
  EXPECT_EQ(value_of(*merged, "message.max.bytes"), "300 from --set");
  EXPECT_TRUE(merged->warnings.empty());
}

TEST(MergeSources, ASetMayHaveEqualsSignsAndTheLastOneWins) {
  const auto merged =
      merge_sources({.sets = {"broker.rack=a=b", "num.partitions=1", "num.partitions = 2"}});
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(value_of(*merged, "broker.rack"), "a=b from --set");
  EXPECT_EQ(value_of(*merged, "num.partitions"), " 2 from --set");
}

TEST(MergeSources, UnknownKeysAreErrorsWithPlaceAndSuggestion) {
  EXPECT_EQ(
      error_of(from_file("# x\nnum.partition=2\n")),
      "weir.properties:2: unknown configuration num.partition (did you mean num.partitions?)");
  EXPECT_EQ(error_of({.sets = {"nothing.like.it.at.all=1"}}),
            "--set: unknown configuration nothing.like.it.at.all");
  EXPECT_EQ(
      error_of({.environment = {{"WEIR_NUM_PARTITION", "1"}}}),
      "environment variable WEIR_NUM_PARTITION: no configuration is named num.partition (did you "
      "mean num.partitions?); WEIR_ and the key in upper case with _ for . is what is meant");
  // Topic configurations are not the broker's.
  EXPECT_EQ(error_of({.sets = {"retention.ms=1"}}),
            "--set: unknown configuration retention.ms (for all topics it is log.retention.ms)");
}

TEST(MergeSources, EveryProblemIsReportedAtOnce) {
  Sources sources = from_file("num.partitions=none\nfoo.bar.baz.quux=1\n");
  sources.sets = {"num.partitions"};
  EXPECT_EQ(
      error_of(sources),
      "weir.properties:2: unknown configuration foo.bar.baz.quux\n"
      "--set num.partitions: must be key=value\n"
      "weir.properties:1: Invalid value none for configuration num.partitions: must be a whole "
      "number from -2147483648 to 2147483647; valid: [1,...]");
}

TEST(MergeSources, ManyProblemsAreCounted) {
  std::string text;
  for (int i = 0; i < 2'000; ++i) text += "nothing.like.it=1\n";
  const std::string error = error_of(from_file(text));
  EXPECT_EQ(std::ranges::count(error, '\n'), 20);
  EXPECT_TRUE(error.ends_with("\nand 1980 more")) << error;
}

TEST(MergeSources, AnOverrideMendsABadValue) {
  Sources sources = from_file("num.partitions=none\n");
  sources.sets = {"num.partitions=4"};
  EXPECT_EQ(error_of(sources), "no error");
}

TEST(MergeSources, ABadEscapeNamesFileAndLine) {
  EXPECT_TRUE(error_of(from_file("a\nb=\\u1")).starts_with("weir.properties: line 2: \\u must be"));
}

TEST(MergeSources, ValuesOfPasswordsAreNotInMessages) {
  EXPECT_EQ(error_of({.sets = {"ssl.key.password=hunter2"}}), "no error");
  const auto merged = merge_sources({.sets = {"ssl.key.password=hunter2"}});
  ASSERT_EQ(merged->warnings.size(), 1U);
  EXPECT_EQ(merged->warnings[0].find("hunter2"), std::string::npos);
}

TEST(MergeSources, AServerPropertiesOfKafkaIsTakenWithWarnings) {
  const auto merged = merge_sources(from_file(
      "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.bootstrap.servers=localhost:"
      "9093\n"
      "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\n"
      "log.dirs=/tmp/kraft-combined-logs\nzookeeper.connect=localhost:2181\n"
      "listener.name.internal.ssl.keystore.location=/x\n"));
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->warnings.size(), 6U);
  EXPECT_EQ(merged->warnings[0], "weir.properties:7: zookeeper.connect has no effect in Weir");
  EXPECT_EQ(
      merged->warnings[3],
      "weir.properties:3: controller.quorum.bootstrap.servers has no effect in Weir: There are no "
      "controllers: brokers share the metadata log.");
  EXPECT_EQ(value_of(*merged, "log.dirs"), "/tmp/kraft-combined-logs from weir.properties:6");
  EXPECT_EQ(value_of(*merged, "zookeeper.connect"), "not set");
}

TEST(MergeSources, AKeyTwiceInAFileIsAWarningAndTheLastCounts) {
  const auto merged = merge_sources(from_file("num.partitions=1\nnum.partitions=2\n"));
  ASSERT_TRUE(merged);
  EXPECT_EQ(value_of(*merged, "num.partitions"), "2 from weir.properties:2");
  EXPECT_EQ(
      merged->warnings,
      (std::vector<std::string>{
          "weir.properties:2: num.partitions is there again; the value of line 1 does not count"}));
}

TEST(MergeSources, ServiceLinksOfKubernetesAreNobodysSettings) {
  EXPECT_EQ(error_of({.environment = {{"WEIR_PORT", "tcp://10.0.0.1:9092"},
                                      {"WEIR_PORT_9092_TCP", "tcp://10.0.0.1:9092"},
                                      {"WEIR_PORT_9092_TCP_ADDR", "10.0.0.1"},
                                      {"WEIR_SERVICE_HOST", "10.0.0.1"},
                                      {"WEIR_HEADLESS_SERVICE_PORT_KAFKA", "9092"}}}),
            "no error");
}

TEST(WeirEnvironment, TakesOnlyItsOwn) {
  ASSERT_EQ(setenv("WEIR_NUM_PARTITIONS", "3", 1), 0);
  ASSERT_EQ(setenv("WEIRD", "x", 1), 0);
  const auto found = weir_environment();
  unsetenv("WEIR_NUM_PARTITIONS");
  unsetenv("WEIRD");
  EXPECT_EQ(found,
            (std::vector<std::pair<std::string, std::string>>{{"WEIR_NUM_PARTITIONS", "3"}}));
}

TEST(ReadConfigFile, ReadsAndRefuses) {
  const std::string path = ::testing::TempDir() + "weir_sources_test.properties";
  std::ofstream(path) << "a=1\n";
  const auto file = read_config_file(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->name, path);
  EXPECT_EQ(file->text, "a=1\n");
  std::ofstream(path) << std::string(kMaxConfigFileBytes + 1, '#');
  EXPECT_EQ(read_config_file(path).error().code, ErrorCode::kInvalid);
  std::remove(path.c_str());
  EXPECT_EQ(read_config_file(path).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_config_file(::testing::TempDir()).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace weir::config

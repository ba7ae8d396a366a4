#include "main/command_line.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace weir {
namespace {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran run(std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_command_line(std::move(arguments), {.out = &out, .err = &err});
  return {.code = code, .out = out.str(), .err = err.str()};
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(CommandLine, Version) {
  const Ran ran = run({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(ran.out.starts_with("weir 0.")) << ran.out;
}

TEST(CommandLine, WhatIsNotUnderstoodEndsWith2) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"nothing"},
                                                    {"--nothing"},
                                                    {"broker", "--check-config", "--nothing"},
                                                    {"broker", "--check-config", "--set"}}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2);
    EXPECT_FALSE(ran.err.empty());
  }
}

TEST(CommandLine, NamesASubcommandThatDoesNotExist) {
  const Ran top = run({"brokr"});
  EXPECT_EQ(top.code, 2);
  EXPECT_TRUE(top.err.starts_with("there is no subcommand 'brokr'; there are: broker ")) << top.err;
  EXPECT_TRUE(run({"metadata", "stats"})
                  .err.starts_with("there is no subcommand 'stats'; there are: stat dump\n"));
  EXPECT_TRUE(
      run({"metadata"}).err.starts_with("a subcommand is required; there are: stat dump\n"));
  EXPECT_TRUE(run({"metadata", "stat"}).err.starts_with("stat: --log is required\n"));
}

TEST(Fsck, WantsBothUrls) {
  EXPECT_EQ(run({"fsck", "--log", "sqlite:x"}).code, 2);
  const Ran ran = run({"fsck", "--log", "sqlite:x", "--store", ""});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "fsck: --store is empty; give the URL that the brokers have\n");
}

TEST(Inspect, AFolderIsNoObject) {
  const Ran ran = run({"inspect", ::testing::TempDir()});
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(ran.err.starts_with("cannot read " + ::testing::TempDir())) << ran.err;
}

TEST(Metadata, ReadingMakesNoDatabase) {
  const std::string path = ::testing::TempDir() + "weir_command_line_test_none.db";
  for (const char* verb : {"stat", "dump"}) {
    const Ran ran = run({"metadata", verb, "--log", "sqlite:" + path});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("a broker wrote"), std::string::npos) << ran.err;
    EXPECT_FALSE(std::ifstream(path)) << verb;
  }
}

TEST(CommandLine, HelpNamesTheSubcommands) {
  const Ran ran = run({"--help"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("broker"), std::string::npos);
  EXPECT_NE(ran.out.find("config-reference"), std::string::npos);
}

TEST(ConfigReference, HasKeysOfEveryKind) {
  const Ran ran = run({"config-reference"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(has_line(ran.out, "#### diskless.append.commit.interval.ms"));
  EXPECT_TRUE(has_line(ran.out, "#### retention.ms"));
  EXPECT_TRUE(has_line(ran.out,
                       "- default from `log.retention.ms`, `log.retention.minutes` × 60000, "
                       "`log.retention.hours` × 3600000"));
  EXPECT_NE(ran.out.find("| `ssl.keystore.location` |"), std::string::npos);
  EXPECT_NE(ran.out.find("| `share.isolation.level` |"), std::string::npos);
}

TEST(CheckConfig, PrintsWhatCountsAndWhereItIsFrom) {
  const std::string path = ::testing::TempDir() + "weir_command_line_test.properties";
  std::ofstream(path) << "node.id=5\nlog.dirs=/x\nnum.partitions=2\n";
  const Ran ran =
      run({"broker", "--config", path, "--set", "num.partitions=3", "--set", "broker.rack=a=b",
           "--set", "metadata.log.url=postgres://me:secret@db/weir", "--check-config"});
  std::remove(path.c_str());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has_line(ran.out, "node.id=5  # " + path + ":1"));
  EXPECT_TRUE(has_line(ran.out, "num.partitions=3  # --set"));
  EXPECT_TRUE(has_line(ran.out, "broker.rack=a=b  # --set"));
  EXPECT_TRUE(has_line(ran.out, "message.max.bytes=1048588  # default"));
  EXPECT_TRUE(has_line(ran.out, "metadata.log.url=postgres://me:****@db/weir  # --set"));
  EXPECT_EQ(ran.out.find("log.dirs"), std::string::npos);
  EXPECT_TRUE(has_line(
      ran.err, "warning: " + path +
                   ":2: log.dirs has no effect in Weir: There are no log files: records are in "
                   "the object store."));
}

TEST(CheckConfig, AnErrorEndsWith1) {
  const Ran ran = run({"broker", "--check-config", "--set", "num.partition=3"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "--set: unknown configuration num.partition (did you mean num.partitions?)\n");
  EXPECT_EQ(run({"broker", "--check-config", "--config", "/does/not/exist"}).code, 1);
}

TEST(CheckConfig, UrlsThatNoBrokerCanOpen) {
  for (const char* store : {"foo:bar", "file:", "s3://", "s3://bucket?bogus=1"}) {
    const Ran ran =
        run({"broker", "--check-config", "--set", std::string("object.store.url=") + store});
    EXPECT_EQ(ran.code, 1) << store;
    EXPECT_TRUE(ran.err.starts_with("object.store.url: ")) << ran.err;
  }
  for (const char* log : {"mysql://x", "sqlite:", "object:foo", "postgres://u@h/x?foo=bar"}) {
    const Ran ran = run({"broker", "--check-config", "--set", "node.id=1", "--set",
                         std::string("metadata.log.url=") + log});
    EXPECT_EQ(ran.code, 1) << log;
    EXPECT_TRUE(ran.err.starts_with("metadata.log.url: ")) << ran.err;
  }
}

TEST(CheckConfig, VolatileBackendsWithDevOnly) {
  EXPECT_EQ(run({"broker", "--check-config", "--set", "object.store.url=memory:"}).code, 1);
  EXPECT_EQ(run({"broker", "--check-config", "--dev", "--set", "object.store.url=memory:"}).code,
            0);
}

}  // namespace
}  // namespace weir

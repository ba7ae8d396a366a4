#include "runtime/log.h"

#include "runtime/test_loop.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace weir {
namespace {

using std::chrono::seconds;

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override { start(log::Format::kText); }
  void TearDown() override { log::configure({}); }

  void start(log::Format format, log::Level level = log::Level::kInfo) {
    log::configure({.level = level, .format = format, .clock = &clock_, .sink = [this](auto line) {
                      lines_.emplace_back(line);
                    }});
  }

  ManualClock clock_;
  std::vector<std::string> lines_;
};

// The line without its time and level: "event key=value".
std::string body(const std::string& line) {
  return line.substr(std::string("2026-01-31T12:00:00.000Z INFO  ").size());
}

TEST_F(LogTest, TextLineHasTimeLevelEventAndFields) {
  Error error{ErrorCode::kTimeout, "no answer"};
  log::info("object.put",
            {{"key", "data/1"}, {"bytes", 12U}, {"left", -1}, {"ok", true}, {"error", error}});
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(body(lines_[0]),
            R"(object.put key=data/1 bytes=12 left=-1 ok=true error="timed out: no answer")");
  EXPECT_EQ(lines_[0].substr(10, 1), "T");
  EXPECT_EQ(lines_[0].substr(23, 7), "Z INFO ");
}

TEST_F(LogTest, TextQuotesWhatWouldSplitOrForgeALine) {
  log::info(
      "x",
      {{"a", "two words"}, {"b", ""}, {"c", "k=v"}, {"d", "1\n2 ERROR forged"}, {"e", "q\"\\"}});
  EXPECT_EQ(body(lines_.at(0)), R"(x a="two words" b="" c="k=v" d="1\n2 ERROR forged" e="q\"\\")");
}

TEST_F(LogTest, JsonLine) {
  start(log::Format::kJson);
  log::warn("x.y", {{"text", "a\"\n\x01"},
                    {"n", 5},
                    {"d", 1.5},
                    {"nan", std::numeric_limits<double>::quiet_NaN()}});
  ASSERT_EQ(lines_.size(), 1U);
  const std::string& line = lines_[0];
  EXPECT_EQ(line.substr(0, 7), R"({"ts":")");
  EXPECT_EQ(line.substr(line.find("\"level\"")),
            R"("level":"warn","event":"x.y","text":"a\"\n\u0001","n":5,"d":1.5,"nan":"nan"})");
}

TEST_F(LogTest, BytesThatAreNotUtf8AreReplaced) {
  start(log::Format::kJson);
  // A good two-byte character, a lone continuation, an overlong slash, a surrogate, a cut
  // character.
  log::info("x", {{"t", "\xC3\xA4 \x80 \xC0\xAF \xED\xA0\x80 \xE2\x82"}});
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(lines_.at(0).substr(lines_[0].find("\"t\"")),
            "\"t\":\"\xC3\xA4 " + r + " " + r + r + " " + r + r + r + " " + r + r + "\"}");
}

TEST_F(LogTest, TimeIsTheClocksInUtc) {
  struct FixedClock final : Clock {
    TimestampMs wall_ms() const override { return 1769860800123; }
    MonoTime now() const override { return {}; }
    std::shared_ptr<Timer> call_at(MonoTime, Executor, std::move_only_function<void()>) override {
      return nullptr;
    }
  } clock;
  log::configure({.clock = &clock, .sink = [this](auto line) { lines_.emplace_back(line); }});
  log::error("x");
  log::configure({});
  EXPECT_EQ(lines_.at(0), "2026-01-31T12:00:00.123Z ERROR x");
}

TEST_F(LogTest, LevelsBelowTheConfiguredOneAreSilent) {
  start(log::Format::kText, log::Level::kWarn);
  log::info("no");
  log::warn("yes");
  EXPECT_EQ(lines_.size(), 1U);
  EXPECT_FALSE(log::enabled(log::Level::kInfo));
  start(log::Format::kText, log::Level::kOff);
  log::error("no");
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(LogTest, SecretsAreHidden) {
  log::info("x", {{"password", Secret("hunter2")}});
  EXPECT_EQ(body(lines_.at(0)), "x password=****");
}

TEST_F(LogTest, LongTextIsCut) {
  log::info("x", {{"t", std::string(100'000, 'a')}});
  EXPECT_EQ(body(lines_.at(0)).size(), std::string("x t=").size() + log::kMaxLogText);
}

TEST_F(LogTest, RateLimitLetsOneThroughAndCountsTheOthers) {
  log::RateLimit limit{seconds(10)};
  for (int i = 0; i < 4; ++i) log::warn(limit, "x");
  clock_.advance(seconds(10));
  log::warn(limit, "x", {{"k", 1}});
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_EQ(body(lines_[0]), "x");
  EXPECT_EQ(body(lines_[1]), "x k=1 dropped=3");
}

TEST_F(LogTest, ThreadsDoNotMixLinesAndLoseNone) {
  log::RateLimit limit{seconds(10)};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&limit] {
      for (int i = 0; i < 500; ++i) {
        log::info("line", {{"i", i}});
        log::info(limit, "limited");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(lines_.size(), 2001U);
  clock_.advance(seconds(10));
  log::info(limit, "limited");
  EXPECT_EQ(body(lines_.back()), "limited dropped=1999");
}

TEST(LogNames, Parse) {
  EXPECT_EQ(log::parse_level("warn"), log::Level::kWarn);
  EXPECT_EQ(log::parse_level("WARN"), std::nullopt);
  EXPECT_EQ(log::parse_format("json"), log::Format::kJson);
  EXPECT_EQ(log::parse_format("xml"), std::nullopt);
}

}  // namespace
}  // namespace weir

#include "metadata/log/memory_log.h"

#include "metadata/log/metadata_log_contract.h"

#include <boost/asio/co_spawn.hpp>

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class MemoryUnderTest final : public LogUnderTest {
 public:
  std::shared_ptr<MetadataLog> open(Clock& clock) override {
    if (!log_) log_ = std::make_shared<MemoryLog>(clock);
    return log_;
  }

 private:
  std::shared_ptr<MemoryLog> log_;
};

INSTANTIATE_TEST_SUITE_P(Memory, MetadataLogContract,
                         ::testing::Values([] { return std::make_unique<MemoryUnderTest>(); }));

class MemoryLogTest : public ::testing::Test {
 protected:
  Result<Appended> append(std::string_view entry) {
    return run_task(loop_, log_.append(Slice::copy_of(entry), 0));
  }
  Position tail() { return run_task(loop_, log_.tail()).value(); }

  ManualClock clock_;
  boost::asio::io_context loop_;
  MemoryLog log_{clock_};
};

TEST_F(MemoryLogTest, FailsTheNthAppendBeforeOrAfterItsEffect) {
  log_.fail_append(2, MemoryLog::Effect::kNone, ErrorCode::kUnavailable);
  log_.fail_append(3, MemoryLog::Effect::kDone);
  EXPECT_TRUE(append("a"));
  EXPECT_EQ(append("b").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(tail(), 1);
  EXPECT_EQ(append("c").error().code, ErrorCode::kTimeout);
  EXPECT_EQ(tail(), 2);
  auto last = append("d");
  ASSERT_TRUE(last);
  EXPECT_EQ(as_text(last->entries[1].bytes.bytes()), "c");
  EXPECT_EQ(log_.appends(), 4U);
}

TEST_F(MemoryLogTest, AnOutageFailsAllCallsAndLeavesNothing) {
  log_.set_outage(Error{ErrorCode::kUnavailable, "down"});
  EXPECT_FALSE(append("a"));
  EXPECT_FALSE(run_task(loop_, log_.tail()));
  EXPECT_FALSE(run_task(loop_, log_.read(0, 1)));
  EXPECT_FALSE(run_task(loop_, log_.cluster_id({1, 1})));
  log_.set_outage(std::nullopt);
  EXPECT_EQ(tail(), 0);
  EXPECT_EQ(run_task(loop_, log_.cluster_id({2, 2})).value(), (Uuid{2, 2}));
}

TEST_F(MemoryLogTest, DelaysStandBeforeAndAfterTheEffect) {
  log_.set_delays({milliseconds(10), milliseconds(20)});
  bool answered = false;
  boost::asio::co_spawn(
      loop_, log_.append(Slice::copy_of("a"), 0),
      [&](const std::exception_ptr&, const Result<Appended>&) { answered = true; });
  auto advance = [&](int ms) {
    clock_.advance(milliseconds(ms));
    loop_.restart();
    loop_.poll();
  };
  loop_.poll();
  advance(9);
  EXPECT_EQ(log_.image().entries.size(), 0U);
  advance(1);
  EXPECT_EQ(log_.image().entries.size(), 1U);
  advance(19);
  EXPECT_FALSE(answered);
  advance(1);
  EXPECT_TRUE(answered);
}

TEST_F(MemoryLogTest, RestoreGoesBackToAnOlderStateAndWakesWaiters) {
  ASSERT_TRUE(append("a"));
  auto backup = log_.image();
  ASSERT_TRUE(append("b"));
  ASSERT_TRUE(run_task(loop_, log_.record_snapshot({2, "snapshots/2"})));
  bool woken = false;
  boost::asio::co_spawn(loop_, log_.wait_past(2, clock_.now() + seconds(3600)),
                        [&](const std::exception_ptr&) { woken = true; });
  loop_.restart();
  loop_.poll();
  EXPECT_FALSE(woken);
  log_.restore(std::move(backup));
  loop_.restart();
  loop_.poll();
  EXPECT_TRUE(woken);
  EXPECT_EQ(tail(), 1);
  EXPECT_EQ(run_task(loop_, log_.latest_snapshot()).value().position, 0);
  EXPECT_EQ(append("c").value().position, 2);
}

TEST_F(MemoryLogTest, WhatIsOnItsWayWhenItIsRestoredFails) {
  ASSERT_TRUE(append("a"));
  const auto backup = log_.image();
  const std::uint64_t before = log_.incarnation();
  log_.set_delays({milliseconds(10), milliseconds(0)});
  std::optional<Result<Appended>> answer;
  boost::asio::co_spawn(loop_, log_.append(Slice::copy_of("b"), 1),
                        [&](const std::exception_ptr&, Result<Appended> appended) {
                          answer.emplace(std::move(appended));
                        });
  loop_.restart();
  loop_.poll();
  log_.restore(backup);
  EXPECT_GT(log_.incarnation(), before);
  clock_.advance(milliseconds(10));
  loop_.restart();
  loop_.poll();
  ASSERT_TRUE(answer);
  ASSERT_FALSE(*answer);
  EXPECT_EQ(answer->error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(log_.image().entries.size(), 1U);
}

}  // namespace
}  // namespace weir::metadata

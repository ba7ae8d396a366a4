#include "produce/flush_policy.h"

#include <gtest/gtest.h>

namespace weir::produce {
namespace {

using std::chrono::milliseconds;

constexpr MonoTime kStart{std::chrono::hours(1)};

FlushSituation staged_for(Duration age, ByteCount bytes = 1000, std::size_t uploads = 1) {
  return {.staged = bytes, .oldest = kStart - age, .uploads = uploads, .now = kStart};
}

TEST(FlushPolicy, NothingStagedIsNeverFlushed) {
  FlushPolicy policy({});
  FlushSituation idle{.staged = 0, .oldest = {}, .uploads = 0, .now = kStart};
  EXPECT_FALSE(policy.should_flush(idle));
  EXPECT_EQ(policy.ask_again_at(idle), std::nullopt);
}

TEST(FlushPolicy, AFullBufferIsFlushedAtOnce) {
  FlushPolicy policy({});
  EXPECT_FALSE(policy.should_flush(staged_for(milliseconds(0), 8_MiB - 1)));
  EXPECT_TRUE(policy.should_flush(staged_for(milliseconds(0), 8_MiB)));
}

TEST(FlushPolicy, TheOldestBatchWaitsNoLongerThanTheInterval) {
  FlushPolicy policy({});
  EXPECT_FALSE(policy.should_flush(staged_for(milliseconds(249))));
  EXPECT_EQ(policy.ask_again_at(staged_for(milliseconds(249))), kStart + milliseconds(1));
  EXPECT_TRUE(policy.should_flush(staged_for(milliseconds(250))));
}

TEST(FlushPolicy, UploadSlotsAreALimit) {
  FlushPolicy policy({.max_uploads = 2});
  EXPECT_TRUE(policy.should_flush(staged_for(milliseconds(300), 9_MiB, 1)));
  EXPECT_FALSE(policy.should_flush(staged_for(milliseconds(300), 9_MiB, 2)));
  EXPECT_EQ(policy.ask_again_at(staged_for(milliseconds(300), 9_MiB, 2)), std::nullopt);
}

TEST(FlushPolicy, FreePutsAreMadeEarlyWhenNothingIsInFlight) {
  FlushPolicy policy({});
  EXPECT_TRUE(policy.should_flush(staged_for(milliseconds(0), 1, 0)));
  EXPECT_FALSE(policy.should_flush(staged_for(milliseconds(0), 1, 1)));
}

TEST(FlushPolicy, ABudgetOfZeroIsNeverEarly) {
  FlushPolicy policy({.early_puts_per_second = 0.0});
  EXPECT_FALSE(policy.should_flush(staged_for(milliseconds(0), 1, 0)));
  EXPECT_EQ(policy.ask_again_at(staged_for(milliseconds(0), 1, 0)), kStart + milliseconds(250));
}

TEST(FlushPolicy, EarlyPutsStayWithinTheirBudget) {
  FlushPolicy policy({.early_puts_per_second = 10.0});
  int flushed = 0;
  // Ten seconds, asked every millisecond, always something staged and nothing in flight.
  for (int ms = 0; ms < 10'000; ++ms) {
    MonoTime now = kStart + milliseconds(ms);
    FlushSituation situation{.staged = 1, .oldest = now, .uploads = 0, .now = now};
    flushed += policy.should_flush(situation) ? 1 : 0;
  }
  // One second's worth was saved up.
  EXPECT_GE(flushed, 100);
  EXPECT_LE(flushed, 110);
}

TEST(FlushPolicy, AsksAgainWhenTheNextTokenComes) {
  FlushPolicy policy({.early_puts_per_second = 10.0});
  while (policy.should_flush(staged_for(milliseconds(0), 1, 0))) {
  }
  auto at = policy.ask_again_at(staged_for(milliseconds(0), 1, 0));
  ASSERT_TRUE(at);
  EXPECT_LE(*at, kStart + milliseconds(101));
  FlushSituation later{.staged = 1, .oldest = kStart, .uploads = 0, .now = *at};
  EXPECT_TRUE(policy.should_flush(later));
}

}  // namespace
}  // namespace weir::produce

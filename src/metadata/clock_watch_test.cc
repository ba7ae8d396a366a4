#include "metadata/clock_watch.h"

#include "runtime/test_loop.h"

#include <gtest/gtest.h>

namespace weir::metadata {
namespace {

TEST(ClockWatch, TellsWhenAClockIsMoreThanAMinuteOff) {
  ManualClock clock;
  ClockWatch watch(clock);
  const auto differs = [&](TimestampMs by) {
    return watch.differs({.broker = 2, .time = clock.wall_ms() + by});
  };
  EXPECT_FALSE(differs(0));
  EXPECT_FALSE(differs(60'000));
  EXPECT_FALSE(differs(-60'000));
  EXPECT_TRUE(differs(60'001));
  EXPECT_TRUE(differs(-60'001));
  EXPECT_TRUE(differs(315'360'000'000));
  EXPECT_FALSE(differs(5));
}

}  // namespace
}  // namespace weir::metadata

#include "sim/seed_watch.h"

#include <gtest/gtest.h>

#include <csignal>

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(SeedWatchDeathTest, ACrashSaysWhichRunItWas) {
  EXPECT_EXIT(
      {
        watch_run("weir-sim --seed 7", seconds(60));
        ::raise(SIGABRT);
      },
      ::testing::KilledBySignal(SIGABRT), "a run crashes\n  again: weir-sim --seed 7\n");
}

TEST(SeedWatchDeathTest, SoDoesOneThatDoesNotEnd) {
  EXPECT_EXIT(
      {
        watch_run("weir-sim --seed 7", milliseconds(20));
        watch_run("weir-sim --seed 8", milliseconds(20));
        for (volatile bool goes_on = true; goes_on;) {
        }
      },
      ::testing::ExitedWithCode(kHangs), "a run does not end\n  again: weir-sim --seed 8\n");
}

}  // namespace
}  // namespace weir::sim

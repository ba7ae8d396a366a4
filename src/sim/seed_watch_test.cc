#include "sim/seed_watch.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>

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
        // Under ThreadSanitizer a handler waits for the next call of the C library.
        while (true) std::fflush(stderr);
      },
      ::testing::ExitedWithCode(kHangs), "a run does not end\n  again: weir-sim --seed 8\n");
}

}  // namespace
}  // namespace weir::sim

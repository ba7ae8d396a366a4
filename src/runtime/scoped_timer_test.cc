#include "runtime/scoped_timer.h"

#include "runtime/test_loop.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <optional>

namespace weir {
namespace {

using std::chrono::seconds;

TEST(ScopedTimerTest, FiresWhileItHasAnOwnerAndNotAfter) {
  boost::asio::io_context context;
  ManualClock clock;
  int fired = 0;
  auto set = [&] {
    return ScopedTimer(clock.call_after(seconds(1), context.get_executor(), [&] { ++fired; }));
  };
  ScopedTimer kept = set();
  ScopedTimer moved = std::move(kept);
  std::optional<ScopedTimer> dropped = set();
  ScopedTimer replaced = set();
  replaced = set();
  EXPECT_EQ(clock.pending(), 3U);
  dropped.reset();
  EXPECT_EQ(clock.pending(), 2U);
  EXPECT_TRUE(moved);
  clock.advance(seconds(2));
  context.poll();
  EXPECT_EQ(fired, 2);
  moved.cancel();
  EXPECT_FALSE(moved);
}

}  // namespace
}  // namespace weir

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <thread>

#include "runtime/backoff.h"
#include "runtime/byte_budget.h"
#include "runtime/executors.h"
#include "runtime/notifier.h"
#include "runtime/oneshot.h"
#include "runtime/run_on.h"
#include "runtime/task_group.h"
#include "runtime/test_loop.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

TEST(OneShot, GivesAValueSetBeforeTheWait) {
  OneShot<int> shot;
  shot.set(7);
  shot.set(8);
  EXPECT_EQ(run_task(shot.wait()), 7);
}

TEST(OneShot, ResumesOnTheWaitersThread) {
  Executors executors(1, 1);
  OneShot<int> shot;
  boost::asio::io_context context;
  std::thread setter([shot]() mutable { shot.set(5); });
  auto same_thread = [](OneShot<int> s) -> Task<bool> {
    auto id = std::this_thread::get_id();
    int value = co_await s.wait();
    co_return value == 5 && id == std::this_thread::get_id();
  };
  // Work keeps the loop alive while the value is on its way from the other thread.
  auto work = boost::asio::make_work_guard(context);
  EXPECT_TRUE(run_task(context, same_thread(shot)));
  setter.join();
}

TEST(RunOn, ReturnsTheResultOfAnotherThread) {
  Executors executors(1, 1);
  boost::asio::io_context context;
  auto work = boost::asio::make_work_guard(context);
  auto other = run_task(context, run_on(executors.blocking(), [] { return std::this_thread::get_id(); }));
  EXPECT_NE(other, std::this_thread::get_id());
}

TEST(ManualClock, FiresInOrderAndNotWhenCancelled) {
  ManualClock clock;
  boost::asio::io_context context;
  std::vector<int> fired;
  clock.call_after(milliseconds(20), context.get_executor(), [&] { fired.push_back(20); });
  clock.call_after(milliseconds(10), context.get_executor(), [&] { fired.push_back(10); });
  auto cancelled = clock.call_after(milliseconds(15), context.get_executor(), [&] { fired.push_back(15); });
  cancelled->cancel();
  EXPECT_EQ(clock.pending(), 2U);
  clock.advance(milliseconds(19));
  context.poll();
  EXPECT_EQ(fired, std::vector<int>{10});
  clock.advance(milliseconds(1));
  context.restart();
  context.poll();
  EXPECT_EQ(fired, (std::vector<int>{10, 20}));
}

TEST(Notifier, WaitUntilTellsNotifyFromDeadline) {
  ManualClock clock;
  boost::asio::io_context context;
  Notifier notifier;
  notifier.notify();
  EXPECT_TRUE(run_task(context, notifier.wait_until(clock, clock.now() + milliseconds(5))));
  bool notified = true;
  boost::asio::co_spawn(context, notifier.wait_until(clock, clock.now() + milliseconds(5)),
                        [&](const std::exception_ptr&, bool value) { notified = value; });
  context.restart();
  context.poll();
  EXPECT_TRUE(notified);  // still waiting
  clock.advance(milliseconds(5));
  context.restart();
  context.poll();
  EXPECT_FALSE(notified);
}

TEST(ByteBudget, MakesTasksWaitInOrder) {
  ByteBudget budget(100);
  boost::asio::io_context context;
  std::vector<int> got;
  std::vector<ByteBudget::Reservation> held;
  auto take = [&](int id, ByteCount bytes) -> Task<void> {
    held.push_back(co_await budget.reserve(bytes));
    got.push_back(id);
  };
  boost::asio::co_spawn(context, take(1, 60), boost::asio::detached);
  boost::asio::co_spawn(context, take(2, 60), boost::asio::detached);
  boost::asio::co_spawn(context, take(3, 10), boost::asio::detached);
  context.poll();
  // The third would fit but does not overtake the second.
  EXPECT_EQ(got, std::vector<int>{1});
  EXPECT_EQ(budget.used(), 60U);
  held.clear();
  context.restart();
  context.poll();
  EXPECT_EQ(got, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(budget.used(), 70U);
  held.clear();
  EXPECT_EQ(budget.used(), 0U);
}

TEST(ByteBudget, LetsOneOversizedReservationThroughAlone) {
  ByteBudget budget(100);
  boost::asio::io_context context;
  auto held = run_task(context, budget.reserve(1000));
  EXPECT_EQ(budget.used(), 1000U);
}

TEST(TaskGroup, StopWakesSleepersAndJoinWaitsForThem) {
  ManualClock clock;
  boost::asio::io_context context;
  TaskGroup group;
  int rounds = 0;
  auto loop = [&]() -> Task<void> {
    while (co_await group.sleep(clock, milliseconds(10))) ++rounds;
  };
  group.spawn(context.get_executor(), loop());
  context.poll();
  clock.advance(milliseconds(10));
  context.restart();
  context.poll();
  EXPECT_EQ(rounds, 1);
  EXPECT_EQ(group.running(), 1U);
  group.stop();
  run_task(context, group.join());
  EXPECT_EQ(group.running(), 0U);
}

TEST(Backoff, GrowsToItsCap) {
  Rng rng(1);
  Backoff backoff(milliseconds(10), milliseconds(40));
  Duration first = backoff.next(rng);
  EXPECT_GE(first, milliseconds(5));
  EXPECT_LE(first, milliseconds(10));
  for (int i = 0; i < 5; ++i) {
    Duration delay = backoff.next(rng);
    EXPECT_LE(delay, milliseconds(40));
  }
  EXPECT_GE(backoff.next(rng), milliseconds(20));
}

}  // namespace
}  // namespace weir

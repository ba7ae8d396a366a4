#include "runtime/backoff.h"
#include "runtime/byte_budget.h"
#include "runtime/executors.h"
#include "runtime/lazy_deadline.h"
#include "runtime/notifier.h"
#include "runtime/oneshot.h"
#include "runtime/parallel.h"
#include "runtime/published.h"
#include "runtime/run_on.h"
#include "runtime/task_group.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <thread>

namespace weir {
namespace {

using std::chrono::milliseconds;

TEST(OneShot, GivesAValueSetBeforeTheWait) {
  OneShot<int> shot;
  shot.set(7);
  EXPECT_FALSE(shot.try_set(8));
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
  auto other =
      run_task(context, run_on(executors.blocking(), [] { return std::this_thread::get_id(); }));
  EXPECT_NE(other, std::this_thread::get_id());
}

TEST(ManualClock, FiresInOrderAndNotWhenCancelled) {
  ManualClock clock;
  boost::asio::io_context context;
  std::vector<int> fired;
  clock.call_after(milliseconds(20), context.get_executor(), [&] { fired.push_back(20); });
  clock.call_after(milliseconds(10), context.get_executor(), [&] { fired.push_back(10); });
  auto cancelled =
      clock.call_after(milliseconds(15), context.get_executor(), [&] { fired.push_back(15); });
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

TEST(ManualClock, ACancelledTimerLeavesItsExecutorAlone) {
  ManualClock clock;
  auto context = std::make_unique<boost::asio::io_context>();
  auto timer = clock.call_after(milliseconds(10), context->get_executor(), [] {});
  timer->cancel();
  context.reset();
  clock.advance(milliseconds(10));  // must not touch the context
  EXPECT_EQ(clock.pending(), 0U);
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

// A wait that timed out is over: a notify() that comes before the next wait() is for that one.
TEST(Notifier, NotifyAfterADeadlineIsNotLost) {
  ManualClock clock;
  boost::asio::io_context context;
  Notifier notifier;
  std::optional<bool> notified;
  boost::asio::co_spawn(context, notifier.wait_until(clock, clock.now() + milliseconds(5)),
                        [&](const std::exception_ptr&, bool value) { notified = value; });
  context.poll();
  clock.advance(milliseconds(5));
  context.restart();
  context.poll();
  EXPECT_EQ(notified, false);
  notifier.notify();
  EXPECT_TRUE(run_task(context, notifier.wait_until(clock, clock.now())));
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

TEST(ByteBudget, AStoppedWaiterLeavesTheQueueToTheNext) {
  ByteBudget budget(100);
  boost::asio::io_context context;
  ByteBudget::Reservation first = budget.try_reserve(60);
  std::stop_source stop;
  std::optional<ByteBudget::Reservation> large;
  std::optional<ByteBudget::Reservation> small;
  auto take = [&](ByteCount bytes, std::optional<ByteBudget::Reservation>& to) -> Task<void> {
    to = co_await budget.reserve(bytes, stop.get_token());
  };
  boost::asio::co_spawn(context, take(90, large), boost::asio::detached);
  context.poll();
  std::stop_source other;
  stop.swap(other);
  boost::asio::co_spawn(context, take(20, small), boost::asio::detached);
  context.restart();
  context.poll();
  EXPECT_FALSE(small);
  EXPECT_EQ(budget.try_reserve(1), nullptr);  // does not overtake
  EXPECT_EQ(budget.waiting(), 2U);
  other.request_stop();
  context.restart();
  context.poll();
  ASSERT_TRUE(large);
  EXPECT_EQ(*large, nullptr);
  ASSERT_TRUE(small);
  EXPECT_NE(*small, nullptr);
  EXPECT_EQ(budget.used(), 80U);
  EXPECT_EQ(budget.waiting(), 0U);
}

TEST(ByteBudget, AStopRequestedBeforeIsAnsweredAtOnce) {
  ByteBudget budget(100);
  ByteBudget::Reservation first = budget.try_reserve(100);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(run_task(budget.reserve(1, stop.get_token())), nullptr);
  EXPECT_EQ(budget.used(), 100U);
}

// Two holders of parts that need more than there is: both must end, one after the other.
TEST(ByteBudget, ExtensionsOverdrawOneAtATimeAndGoFirst) {
  ByteBudget budget(100);
  boost::asio::io_context context;
  ByteBudget::Reservation part_a = budget.try_reserve(50);
  ByteBudget::Reservation part_b = budget.try_reserve(40);
  EXPECT_EQ(budget.try_extend(20), nullptr);
  ByteBudget::Reservation part_c = budget.try_extend(10);
  EXPECT_NE(part_c, nullptr);
  std::vector<char> order;
  std::vector<ByteBudget::Reservation> held;
  auto take = [&](char id, Task<ByteBudget::Reservation> task) -> Task<void> {
    held.push_back(co_await std::move(task));
    order.push_back(id);
  };
  boost::asio::co_spawn(context, take('n', budget.reserve(5)), boost::asio::detached);
  context.poll();
  boost::asio::co_spawn(context, take('a', budget.extend_to_end(60)), boost::asio::detached);
  boost::asio::co_spawn(context, take('b', budget.extend_to_end(70)), boost::asio::detached);
  context.restart();
  context.poll();
  EXPECT_EQ(order, std::vector<char>{'a'});
  EXPECT_EQ(budget.used(), 160U);
  // a ends: 160 - 50 - 60.
  part_a.reset();
  held.clear();
  context.restart();
  context.poll();
  EXPECT_EQ(order, (std::vector<char>{'a', 'b'}));
  EXPECT_EQ(budget.used(), 120U);
  part_b.reset();
  held.clear();
  context.restart();
  context.poll();
  EXPECT_EQ(order, (std::vector<char>{'a', 'b', 'n'}));
}

TEST(LazyDeadline, FollowsTheLatestMomentWithOneTimer) {
  ManualClock clock;
  boost::asio::io_context context;
  int passed = 0;
  auto turn = [&](int ms) {
    clock.advance(milliseconds(ms));
    context.restart();
    context.poll();
  };
  {
    LazyDeadline deadline(clock, context.get_executor(), [&] { ++passed; });
    deadline.set(clock.now() + milliseconds(10));
    deadline.set(clock.now() + milliseconds(30));
    EXPECT_EQ(clock.pending(), 1U);
    turn(10);
    EXPECT_EQ(passed, 0);
    turn(20);
    EXPECT_EQ(passed, 1);
    deadline.set(clock.now() + milliseconds(30));
    deadline.set(clock.now() + milliseconds(5));  // earlier than the timer that is set
    turn(5);
    EXPECT_EQ(passed, 2);
    deadline.set(clock.now() + milliseconds(5));
    deadline.clear();
    turn(10);
    EXPECT_EQ(passed, 2);
    deadline.set(clock.now() + milliseconds(5));
    clock.advance(milliseconds(5));  // posted, not yet run, when the deadline dies
  }
  turn(10);
  EXPECT_EQ(passed, 2);
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

TEST(ForEachParallel, RunsAFewAtOnceAndAllInTheEnd) {
  ManualClock clock;
  boost::asio::io_context context;
  std::size_t running = 0;
  std::size_t most = 0;
  std::vector<std::size_t> done;
  auto body = [&](std::size_t index) -> Task<Status> {
    most = std::max(most, ++running);
    co_await clock.sleep(milliseconds(10));
    --running;
    done.push_back(index);
    co_return Status();
  };
  std::optional<Status> result;
  boost::asio::co_spawn(
      context, for_each_parallel(10, 4, body),
      [&](const std::exception_ptr&, Status status) { result = std::move(status); });
  for (int i = 0; i < 4 && !result; ++i) {
    context.restart();
    context.poll();
    clock.advance(milliseconds(10));
  }
  context.restart();
  context.poll();
  ASSERT_TRUE(result && *result);
  EXPECT_EQ(most, 4U);
  EXPECT_EQ(done, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(run_task(context, for_each_parallel(0, 4, body)));
}

TEST(ForEachParallel, StopsAtTheFirstError) {
  boost::asio::io_context context;
  std::vector<std::size_t> begun;
  auto body = [&](std::size_t index) -> Task<Status> {
    begun.push_back(index);
    if (index == 2) co_return fail(ErrorCode::kCorrupt, "two");
    co_return Status();
  };
  Status status = run_task(context, for_each_parallel(10, 1, body));
  EXPECT_EQ(status.error().message, "two");
  EXPECT_EQ(begun, (std::vector<std::size_t>{0, 1, 2}));
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

TEST(Published, ReadersOnManyThreadsSeeValuesInOrder) {
  Published<int> published(std::make_shared<const int>(0));
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      int last = 0;
      while (!done) {
        int now = *published.get();
        EXPECT_GE(now, last);
        last = now;
      }
      EXPECT_EQ(*published.get(), 2000);
    });
  }
  for (int i = 1; i <= 2000; ++i) published.set(std::make_shared<const int>(i));
  done = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace weir

#include "sim/run_queue.h"

#include "runtime/oneshot.h"
#include "runtime/task_group.h"

#include <boost/asio/dispatch.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace weir::sim {
namespace {

TEST(RunQueueTest, RunsOneAfterTheOther) {
  RunQueue queue;
  const Executor executor = queue.handle();
  std::string seen;
  boost::asio::post(executor, [&] {
    seen += 'a';
    boost::asio::post(executor, [&] { seen += 'c'; });
  });
  boost::asio::post(executor, [&] { seen += 'b'; });
  EXPECT_EQ(seen, "");
  EXPECT_TRUE(queue.run_one());
  EXPECT_EQ(seen, "a");
  EXPECT_TRUE(queue.run_one());
  EXPECT_TRUE(queue.run_one());
  EXPECT_EQ(seen, "abc");
  EXPECT_FALSE(queue.run_one());
}

// As in an io_context: at once from within, but not from the outside or from another machine.
TEST(RunQueueTest, DispatchedIsRunAtOnceWithinItOnly) {
  RunQueue one;
  RunQueue two;
  const Executor of_one = one.handle();
  const Executor of_two = two.handle();
  std::string seen;
  boost::asio::dispatch(of_one, [&] {
    seen += '1';
    boost::asio::dispatch(of_one, [&] { seen += '2'; });
    boost::asio::dispatch(of_two, [&] { seen += 'x'; });
    seen += '3';
  });
  EXPECT_EQ(seen, "");
  EXPECT_TRUE(one.run_one());
  EXPECT_EQ(seen, "123");
  EXPECT_FALSE(one.run_one());
  EXPECT_TRUE(two.run_one());
  EXPECT_EQ(seen, "123x");
}

TEST(RunQueueTest, ATaskStaysOnItsQueue) {
  RunQueue queue;
  RunQueue other;
  TaskGroup tasks;
  OneShot<int> answer;
  int got = 0;
  tasks.spawn(queue.handle(), [](OneShot<int> from, int& to) -> Task<void> {
    to = co_await from.wait();
  }(answer, got));
  while (queue.run_one()) {
  }
  boost::asio::post(other.handle(), [&] { answer.set(7); });
  EXPECT_TRUE(other.run_one());
  EXPECT_FALSE(other.run_one());
  EXPECT_EQ(got, 0);
  while (queue.run_one()) {
  }
  EXPECT_EQ(got, 7);
  EXPECT_EQ(tasks.running(), 0U);
}

// A destroyed function may post another, as the end of a task does.
TEST(RunQueueTest, WhatIsLeftIsDestroyedAndNotRun) {
  struct PostsAtItsEnd {
    Executor executor;
    int& ended;
    ~PostsAtItsEnd() {
      if (++ended == 1) {
        boost::asio::post(executor,
                          [again = std::make_shared<PostsAtItsEnd>(executor, ended)] { FAIL(); });
      }
    }
  };
  int ended = 0;
  {
    RunQueue queue;
    auto left = std::make_shared<PostsAtItsEnd>(queue.handle(), ended);
    boost::asio::post(queue.handle(), [left = std::move(left)] { FAIL(); });
  }
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace weir::sim

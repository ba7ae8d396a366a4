#include "broker/work_memory.h"

#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace weir::broker {
namespace {

TEST(WorkMemory, TwoThatHaveAPlaceDoNotWaitForEachOthersMore) {
  boost::asio::io_context context;
  WorkMemory work(10_MiB);
  std::size_t served = 0;
  auto serve = [](WorkMemory* memory, std::size_t* done) -> Task<void> {
    auto list = co_await memory->reserve(5_MiB, {});
    auto answer = co_await memory->extend(10_MiB, {});
    EXPECT_TRUE(list && answer);
    ++*done;
  };
  for (int i = 0; i < 4; ++i)
    boost::asio::co_spawn(context, serve(&work, &served), boost::asio::detached);
  context.poll();
  EXPECT_EQ(served, 4U);
  EXPECT_EQ(work.used(), 0U);
}

TEST(WorkMemory, MoreWaitsWhileTheBudgetIsOverdrawn) {
  boost::asio::io_context context;
  WorkMemory work(10_MiB);
  auto first = run_task(context, work.extend(10_MiB, {}));
  auto second = run_task(context, work.extend(1_MiB, {}));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(work.used(), 11_MiB);
  bool has_third = false;
  auto wait = [](WorkMemory* memory, bool* has) -> Task<void> {
    auto third = co_await memory->extend(1_MiB, {});
    *has = third.has_value();
  };
  boost::asio::co_spawn(context, wait(&work, &has_third), boost::asio::detached);
  context.restart();
  context.poll();
  EXPECT_FALSE(has_third);
  *second = {};
  context.restart();
  context.poll();
  EXPECT_TRUE(has_third);
}

TEST(WorkMemory, ASmallListGoesFree) {
  boost::asio::io_context context;
  WorkMemory work(10_MiB);
  EXPECT_TRUE(run_task(context, work.reserve_list(60_KiB, {})));
  EXPECT_EQ(work.used(), 0U);
}

// What a list becomes is expected to be large, and its answer is what it is.
TEST(WorkMemory, AnAnswerTakesThePlaceOfItsRequest) {
  boost::asio::io_context context;
  WorkMemory work(10_MiB);
  auto reserved = run_task(context, work.reserve_list(300_KiB, {}));
  ASSERT_TRUE(reserved);
  EXPECT_FALSE(work.try_reserve(5_MiB).reservation);
  WorkMemory::Place place = work.exchange(*std::move(reserved), 1_MiB);
  EXPECT_EQ(work.used(), 1_MiB);
  EXPECT_TRUE(work.try_reserve(5_MiB).reservation);
  place = {};
  EXPECT_EQ(work.used(), 0U);
}

}  // namespace
}  // namespace weir::broker

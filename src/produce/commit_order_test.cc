#include "produce/commit_order.h"

#include <gtest/gtest.h>

namespace weir::produce {
namespace {

using Tickets = std::vector<CommitOrder::Ticket>;

TopicPartition partition(int index) { return {{1, 1}, index}; }

TEST(CommitOrder, ObjectsThatShareAPartitionCommitInFlushOrder) {
  CommitOrder order;
  auto first = order.enter(std::vector{partition(0), partition(1)});
  auto second = order.enter(std::vector{partition(1), partition(2)});
  EXPECT_EQ(order.uploaded(second), Tickets{});
  EXPECT_EQ(order.uploaded(first), (Tickets{first, second}));
  EXPECT_EQ(order.in_flight(), 0U);
}

TEST(CommitOrder, ObjectsWithoutASharedPartitionDoNotWait) {
  CommitOrder order;
  auto slow = order.enter(std::vector{partition(0)});
  auto quick = order.enter(std::vector{partition(1)});
  EXPECT_EQ(order.uploaded(quick), Tickets{quick});
  EXPECT_EQ(order.uploaded(slow), Tickets{slow});
}

TEST(CommitOrder, WaitsForTheLastOfEachPartition) {
  CommitOrder order;
  auto a = order.enter(std::vector{partition(0)});
  auto b = order.enter(std::vector{partition(1)});
  auto c = order.enter(std::vector{partition(0), partition(1)});
  EXPECT_EQ(order.uploaded(c), Tickets{});
  EXPECT_EQ(order.uploaded(b), Tickets{b});
  EXPECT_EQ(order.uploaded(a), (Tickets{a, c}));
}

TEST(CommitOrder, WaitsForTheNewestAlsoWhenAnOlderOneHasLeft) {
  CommitOrder order;
  auto a = order.enter(std::vector{partition(0)});
  auto b = order.enter(std::vector{partition(0)});
  EXPECT_EQ(order.uploaded(a), Tickets{a});
  auto c = order.enter(std::vector{partition(0)});
  EXPECT_EQ(order.uploaded(c), Tickets{});
  EXPECT_EQ(order.uploaded(b), (Tickets{b, c}));
}

TEST(CommitOrder, AFailedObjectFreesItsFollowers) {
  CommitOrder order;
  auto a = order.enter(std::vector{partition(0)});
  auto b = order.enter(std::vector{partition(0)});
  EXPECT_EQ(order.uploaded(b), Tickets{});
  EXPECT_EQ(order.failed(a), Tickets{b});
}

TEST(CommitOrder, AFailureInTheMiddleDoesNotLetTheLastOvertakeTheFirst) {
  CommitOrder order;
  auto a = order.enter(std::vector{partition(0)});
  auto b = order.enter(std::vector{partition(0)});
  auto c = order.enter(std::vector{partition(0)});
  EXPECT_EQ(order.failed(b), Tickets{});
  EXPECT_EQ(order.uploaded(c), Tickets{});
  EXPECT_EQ(order.uploaded(a), (Tickets{a, c}));
  EXPECT_EQ(order.in_flight(), 0U);
}

TEST(CommitOrder, APartitionWhoseObjectsAreAllCommittedHoldsUpNobody) {
  CommitOrder order;
  auto a = order.enter(std::vector{partition(0)});
  EXPECT_EQ(order.uploaded(a), Tickets{a});
  auto b = order.enter(std::vector{partition(0)});
  EXPECT_EQ(order.uploaded(b), Tickets{b});
}

}  // namespace
}  // namespace weir::produce

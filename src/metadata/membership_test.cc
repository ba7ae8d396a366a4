#include "metadata/membership.h"

#include <gtest/gtest.h>

#include <set>

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MembershipOptions kOptions{
    .session_timeout = seconds(9), .heartbeat_interval = seconds(2), .return_time = seconds(5)};

class MembershipTest : public ::testing::Test {
 protected:
  void put(BrokerId id, BrokerEpoch epoch, Position last, bool fenced = false) {
    brokers_[id] = {.image = {.id = id, .epoch = epoch}, .fenced = fenced, .last_position = last};
  }
  void look(Duration at) { membership_.look(brokers_, MonoTime(at)); }
  std::vector<BrokerId> silent(Duration at) {
    std::vector<BrokerId> ids;
    for (const FenceBroker& fence : membership_.silent(MonoTime(at)))
      ids.push_back(fence.broker_id);
    return ids;
  }
  bool due(Duration at) { return membership_.heartbeat_due(MonoTime(at)); }

  std::map<BrokerId, BrokerState> brokers_;
  Membership membership_{1, kOptions};
};

TEST_F(MembershipTest, ABrokerThatIsAloneNeedsNoHeartbeat) {
  put(1, 5, 5);
  look(seconds(0));
  EXPECT_FALSE(due(seconds(100)));
  put(2, 3, 3, true);
  look(seconds(100));
  EXPECT_FALSE(due(seconds(200)));
}

TEST_F(MembershipTest, AHeartbeatIsDueWhenNothingWasAppendedForTheInterval) {
  put(1, 5, 5);
  put(2, 6, 6);
  look(seconds(0));
  EXPECT_FALSE(due(milliseconds(1999)));
  EXPECT_TRUE(due(milliseconds(2125)));
  const MonoTime next = membership_.next(MonoTime(milliseconds(500)));
  EXPECT_GE(next, MonoTime(seconds(2)));
  EXPECT_LE(next, MonoTime(milliseconds(2125)));
  EXPECT_TRUE(membership_.heartbeat_due(next));
  put(1, 5, 8);  // any record
  look(seconds(2));
  EXPECT_FALSE(due(milliseconds(3999)));
  EXPECT_TRUE(due(milliseconds(4125)));
}

// Brokers that were started together do not append together for ever.
TEST_F(MembershipTest, HeartbeatsComeAtDifferentTimesAfterTheInterval) {
  put(2, 6, 6);
  std::set<MonoTime> times;
  for (Position position = 10; position < 30; ++position) {
    put(1, 5, position);
    look(seconds(0));
    times.insert(membership_.next(MonoTime(seconds(0))));
  }
  EXPECT_GE(times.size(), 10U);
}

TEST_F(MembershipTest, WhoStandsStillForASessionIsSilent) {
  put(1, 5, 5);
  put(2, 6, 7);
  put(3, 8, 8);
  look(seconds(1));
  put(3, 8, 9);
  look(seconds(4));
  EXPECT_TRUE(silent(milliseconds(9999)).empty());
  EXPECT_EQ(silent(seconds(10)), std::vector<BrokerId>{2});
  FenceBroker fence = membership_.silent(MonoTime(seconds(10))).front();
  EXPECT_EQ(fence.epoch, 6);
  EXPECT_EQ(fence.last_seen, 7);
  EXPECT_EQ(silent(seconds(13)), (std::vector<BrokerId>{2, 3}));
  // A new registration is a new session.
  put(2, 20, 20);
  look(seconds(13));
  EXPECT_EQ(silent(seconds(13)), std::vector<BrokerId>{3});
  put(3, 8, 9, true);
  look(seconds(13));
  EXPECT_TRUE(silent(seconds(14)).empty());
}

TEST_F(MembershipTest, TimeWithoutSightDoesNotCount) {
  put(1, 5, 5);
  put(2, 6, 6);
  look(seconds(0));
  membership_.was_blind(MonoTime(seconds(8)));
  membership_.was_blind(MonoTime(seconds(3)));
  EXPECT_TRUE(silent(milliseconds(16'999)).empty());
  EXPECT_EQ(silent(seconds(17)), std::vector<BrokerId>{2});
}

TEST_F(MembershipTest, OthersMayReachTheLogLater) {
  put(1, 5, 5);
  put(2, 6, 6);
  look(seconds(0));
  membership_.log_came_back(MonoTime(seconds(20)));
  EXPECT_TRUE(silent(milliseconds(33'999)).empty());
  EXPECT_EQ(silent(seconds(34)), std::vector<BrokerId>{2});
}

TEST_F(MembershipTest, AProcessThatDidNotRunSawNothing) {
  put(1, 5, 5);
  put(2, 6, 6);
  look(seconds(0));
  membership_.woke(MonoTime(seconds(2)), MonoTime(seconds(4)));  // a busy machine
  EXPECT_EQ(silent(seconds(9)), std::vector<BrokerId>{2});
  // The others may not have run, either, and for as long again.
  membership_.woke(MonoTime(seconds(6)), MonoTime(seconds(10)));
  EXPECT_TRUE(silent(milliseconds(22'999)).empty());
  EXPECT_EQ(silent(seconds(23)), std::vector<BrokerId>{2});
  membership_.woke(MonoTime(seconds(2)), MonoTime(seconds(60)));
  EXPECT_TRUE(silent(milliseconds(73'999)).empty());
  EXPECT_EQ(silent(seconds(74)), std::vector<BrokerId>{2});
}

TEST_F(MembershipTest, AsksAgainInTimeAndNotAllTheTime) {
  put(1, 5, 5);
  put(2, 6, 6);
  look(seconds(0));
  put(1, 5, 7);
  look(milliseconds(8500));
  EXPECT_EQ(membership_.next(MonoTime(milliseconds(8500))), MonoTime(seconds(9)));
  EXPECT_EQ(membership_.next(MonoTime(seconds(50))), MonoTime(milliseconds(50'250)));
}

}  // namespace
}  // namespace weir::metadata

#include "runtime/allocator.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::milliseconds;

class GiveBackRuleTest : public ::testing::Test {
 protected:
  GiveBackRule rule_{160};
  MonoTime now_{std::chrono::hours(1)};
};

TEST_F(GiveBackRuleTest, AsSoonAsMoreThanTheBudgetIsResident) {
  EXPECT_FALSE(rule_.due(160, now_));
  EXPECT_TRUE(rule_.due(161, now_));
  rule_.gave_back(90, now_);
  EXPECT_FALSE(rule_.due(160, now_));
  EXPECT_TRUE(rule_.due(161, now_));
}

TEST_F(GiveBackRuleTest, NotAgainAndAgainForWhatIsInUse) {
  rule_.gave_back(170, now_);
  now_ += milliseconds(100);
  EXPECT_FALSE(rule_.due(180, now_));
  EXPECT_TRUE(rule_.due(181, now_));
}

// What was in use may be free by now, in holes that only giving back shows.
TEST_F(GiveBackRuleTest, AgainAfterASecond) {
  rule_.gave_back(170, now_);
  EXPECT_FALSE(rule_.due(170, now_ + milliseconds(999)));
  EXPECT_TRUE(rule_.due(170, now_ + milliseconds(1000)));
}

}  // namespace
}  // namespace weir

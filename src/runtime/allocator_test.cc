#include "runtime/allocator.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(GiveBackRuleTest, AsSoonAsMoreThanTheBudgetIsResident) {
  GiveBackRule rule(160);
  EXPECT_FALSE(rule.due(160));
  EXPECT_TRUE(rule.due(161));
  rule.gave_back(90);
  EXPECT_FALSE(rule.due(160));
  EXPECT_TRUE(rule.due(161));
}

TEST(GiveBackRuleTest, NotAgainAndAgainForWhatIsInUse) {
  GiveBackRule rule(160);
  EXPECT_TRUE(rule.due(175));
  rule.gave_back(170);
  EXPECT_FALSE(rule.due(180));
  EXPECT_TRUE(rule.due(181));
  rule.gave_back(181);
  EXPECT_FALSE(rule.due(191));
}

TEST(GiveBackRuleTest, WhatWasInUseBeforeIsForgottenOnceItIsGone) {
  GiveBackRule rule(160);
  EXPECT_TRUE(rule.due(200));
  rule.gave_back(190);
  EXPECT_FALSE(rule.due(100));
  EXPECT_TRUE(rule.due(161));
}

}  // namespace
}  // namespace weir

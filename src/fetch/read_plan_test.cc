#include "fetch/read_plan.h"

#include <gtest/gtest.h>

namespace weir::fetch {
namespace {

using kafka::KafkaError;

// Epoch 0 has the offsets 0 to 9, epoch 2 those from 10 to 29, epoch 5 begins at 30.
metadata::PartitionView three_epochs() {
  metadata::ExtentList extents;
  extents.append({.base_offset = 0, .last_offset_delta = 9, .leader_epoch = 0});
  extents.append({.base_offset = 10, .last_offset_delta = 9, .leader_epoch = 2});
  extents.append({.base_offset = 20, .last_offset_delta = 9, .leader_epoch = 2});
  extents.append({.base_offset = 30, .last_offset_delta = 4, .leader_epoch = 5});
  return {.high_watermark = 35, .leader_epoch = 5, .extents = extents.view()};
}

// The leader's epoch; records were written up to epoch 5.
constexpr LeaderEpoch kCurrent = 9;

TEST(EndOfEpoch, IsWhereTheNextOneBegins) {
  metadata::PartitionView view = three_epochs();
  EXPECT_EQ(end_of_epoch(view, kCurrent, 0)->offset, 10);
  EXPECT_EQ(end_of_epoch(view, kCurrent, 1)->offset, 10);
  EXPECT_EQ(end_of_epoch(view, kCurrent, 2), (EpochEnd{.epoch = 2, .offset = 30}));
  EXPECT_EQ(end_of_epoch(view, kCurrent, 4)->offset, 30);
}

TEST(EndOfEpoch, IsTheHighWatermarkForTheLastOne) {
  EXPECT_EQ(end_of_epoch(three_epochs(), kCurrent, 5), (EpochEnd{.epoch = 5, .offset = 35}));
  EXPECT_EQ(end_of_epoch(three_epochs(), kCurrent, kCurrent), (EpochEnd{.epoch = 5, .offset = 35}));
  metadata::PartitionView empty{.high_watermark = 7, .leader_epoch = 3, .extents = {}};
  EXPECT_EQ(end_of_epoch(empty, 3, 3), (EpochEnd{.epoch = 3, .offset = 7}));
}

TEST(EndOfEpoch, IsUnknownForEpochsThatHaveNotBeen) {
  EXPECT_EQ(end_of_epoch(three_epochs(), kCurrent, kCurrent + 1), std::nullopt);
  EXPECT_EQ(end_of_epoch(three_epochs(), kCurrent, -1), std::nullopt);
}

TEST(CheckLeaderEpoch, RefusesOnlyLaterOnes) {
  EXPECT_EQ(check_leader_epoch(6, 5), KafkaError::kUnknownLeaderEpoch);
  EXPECT_EQ(check_leader_epoch(5, 5), KafkaError::kNone);
  EXPECT_EQ(check_leader_epoch(4, 5), KafkaError::kNone);
  EXPECT_EQ(check_leader_epoch(-1, 5), KafkaError::kNone);
}

}  // namespace
}  // namespace weir::fetch

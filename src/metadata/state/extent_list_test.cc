#include "metadata/state/extent_list.h"

#include "runtime/rng.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::metadata {
namespace {

Extent extent(Offset base, std::uint32_t records, TimestampMs timestamp) {
  return {.base_offset = base,
          .object = {7, base},
          .max_timestamp = timestamp,
          .append_time = 5,
          .last_offset_delta = records - 1,
          .byte_length = 100};
}

// Extents of ten records: [0, 9], [10, 19], … with timestamps 1000, 1001, …
ExtentList tens(int count) {
  ExtentList list;
  for (int i = 0; i < count; ++i) list.append(extent(i * 10, 10, 1000 + i));
  return list;
}

TEST(ExtentList, FindsTheExtentThatHoldsAnOffset) {
  ExtentList list = tens(1000);
  const ExtentsView& view = list.view();
  ASSERT_EQ(view.size(), 1000U);
  EXPECT_EQ(view.find(0), 0U);
  EXPECT_EQ(view.find(9), 0U);
  EXPECT_EQ(view.find(10), 1U);
  EXPECT_EQ(view.find(9999), 999U);
  EXPECT_EQ(view.find(10000), 1000U);
  EXPECT_EQ(view.back().base_offset, 9990);
}

TEST(ExtentList, FindsTheNextExtentAfterAHole) {
  ExtentList list;
  list.append(extent(0, 10, 1));
  list.append(extent(50, 10, 1));
  EXPECT_EQ(list.view().find(10), 1U);
  EXPECT_EQ(list.view().find(49), 1U);
  EXPECT_EQ(list.view().find(59), 1U);
  EXPECT_EQ(list.view().find(60), 2U);
}

TEST(ExtentList, DropsFromTheFrontAndKeepsOldViews) {
  ExtentList list = tens(1000);
  ExtentsView before = list.view();
  list.drop_front(3);
  EXPECT_EQ(list.view().front().base_offset, 30);
  EXPECT_EQ(list.view().find(0), 0U);
  EXPECT_EQ(list.view().find(45), 1U);
  list.drop_front(900);
  EXPECT_EQ(list.view().size(), 97U);
  EXPECT_EQ(list.view().first_ordinal(), 903U);
  EXPECT_EQ(list.view().find(9030), 0U);
  EXPECT_EQ(list.view().find(9045), 1U);
  list.drop_front(97);
  EXPECT_TRUE(list.view().empty());
  EXPECT_EQ(list.view().find(0), 0U);
  list.append(extent(10000, 5, 1));
  EXPECT_EQ(list.view().first_ordinal(), 1000U);
  EXPECT_EQ(list.view().front().base_offset, 10000);
  ASSERT_EQ(before.size(), 1000U);
  EXPECT_EQ(before.front().base_offset, 0);
  EXPECT_EQ(before.find(9999), 999U);
}

TEST(ExtentList, AViewDoesNotSeeWhatIsAppendedLater) {
  ExtentList list = tens(3);
  ExtentsView view = list.view();
  list.append(extent(30, 10, 1003));
  EXPECT_EQ(view.size(), 3U);
  EXPECT_EQ(view.find(30), 3U);
  EXPECT_EQ(view.find_timestamp(1003), 3U);
  EXPECT_EQ(list.view().find_timestamp(1003), 3U);
  EXPECT_EQ(list.view().size(), 4U);
}

TEST(ExtentList, FindsByTimestampInOrderOfOffsets) {
  ExtentList list;
  // Timestamps out of order: 5, 9, 7, 9, 1.
  TimestampMs timestamps[] = {5, 9, 7, 9, 1};
  for (int i = 0; i < 5; ++i) list.append(extent(i * 10, 10, timestamps[i]));
  EXPECT_EQ(list.view().find_timestamp(6), 1U);
  EXPECT_EQ(list.view().find_timestamp(6, 2), 2U);
  EXPECT_EQ(list.view().find_timestamp(9, 2), 3U);
  EXPECT_EQ(list.view().find_timestamp(10), 5U);
  EXPECT_EQ(list.view().find_max_timestamp(), 1U);
  list.drop_front(2);
  EXPECT_EQ(list.view().find_max_timestamp(), 1U);
}

// Extents of several brokers, some of which do not fit beside others in a packed block.
Extent random_extent(Rng& rng, Offset base) {
  Extent e = extent(base, static_cast<std::uint32_t>(1 + rng.below(5)),
                    static_cast<TimestampMs>(rng.below(100000)));
  e.object.epoch = static_cast<BrokerEpoch>(7 + rng.below(3));
  e.object.sequence = static_cast<std::int64_t>(rng.below(1'000'000));
  e.append_time = 1'700'000'000'000 + base;
  e.byte_offset = static_cast<std::uint32_t>(rng.next());
  e.byte_length = static_cast<std::uint32_t>(rng.next());
  e.object_size = static_cast<std::uint32_t>(rng.next());
  e.leader_epoch = static_cast<LeaderEpoch>(rng.below(2));
  e.log_append_time = rng.below(4) == 0;
  if (rng.below(200) == 0) e.max_timestamp = std::numeric_limits<TimestampMs>::max();
  if (rng.below(200) == 0) e.object.sequence = std::numeric_limits<std::int64_t>::max();
  if (rng.below(200) == 0) e.last_offset_delta = std::numeric_limits<std::uint32_t>::max();
  return e;
}

TEST(ExtentList, AgreesWithAPlainVectorUnderRandomUse) {
  Rng rng(42);
  ExtentList list;
  std::vector<Extent> model;
  Offset next = 0;
  for (int step = 0; step < 3000; ++step) {
    if (rng.below(12) == 0 && !model.empty()) {
      std::size_t count = rng.below(rng.below(8) == 0 ? model.size() + 1 : 5) % (model.size() + 1);
      list.drop_front(count);
      model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(count));
    } else {
      next += static_cast<Offset>(rng.below(3));
      Extent e = random_extent(rng, next);
      next = e.last_offset() + 1;
      list.append(e);
      model.push_back(e);
    }
    ASSERT_EQ(list.view().size(), model.size());
    if (step % 7 != 0) continue;
    auto offset = static_cast<Offset>(rng.below(static_cast<std::uint64_t>(next) + 2));
    auto found =
        std::ranges::find_if(model, [&](const Extent& e) { return e.last_offset() >= offset; });
    ASSERT_EQ(list.view().find(offset), static_cast<std::size_t>(found - model.begin())) << step;
    auto time = static_cast<TimestampMs>(rng.below(100000));
    found = std::ranges::find_if(model, [&](const Extent& e) { return e.max_timestamp >= time; });
    ASSERT_EQ(list.view().find_timestamp(time), static_cast<std::size_t>(found - model.begin()))
        << step;
    auto greatest = std::ranges::max_element(model, {}, &Extent::max_timestamp);
    ASSERT_EQ(list.view().find_max_timestamp(), static_cast<std::size_t>(greatest - model.begin()))
        << step;
    for (std::size_t i = 0; i < model.size(); i += 17) ASSERT_EQ(list.view()[i], model[i]);
  }
}

}  // namespace
}  // namespace weir::metadata

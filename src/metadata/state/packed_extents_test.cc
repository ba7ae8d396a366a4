#include "metadata/state/packed_extents.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::metadata {
namespace {

constexpr std::uint32_t kMax32 = std::numeric_limits<std::uint32_t>::max();

// An extent whose fields are all different.
Extent extent(Offset base) {
  return {.base_offset = base,
          .object = {7, 1000 - base},
          .max_timestamp = 1'700'000'000'000 - base,
          .append_time = 1'700'000'000'500 + base,
          .last_offset_delta = 9,
          .byte_offset = 11,
          .byte_length = 12,
          .object_size = 13,
          .leader_epoch = 3};
}

bool comes_back(const std::vector<Extent>& extents) {
  auto packed = PackedExtents::pack(extents);
  if (packed == nullptr || packed->size() != extents.size()) return false;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if ((*packed)[i] != extents[i]) return false;
  }
  return true;
}

// Whether two extents, the second changed, can lie in one block, and come back as they were.
template <typename Change>
bool fits(Change change) {
  std::vector<Extent> extents{extent(100), extent(200)};
  change(extents[1]);
  return comes_back(extents);
}

TEST(PackedExtents, ComeBackAsTheyWere) {
  std::vector<Extent> extents;
  for (Offset i = 0; i < 256; ++i) extents.push_back(extent(i * 10));
  EXPECT_TRUE(comes_back(extents));
}

TEST(PackedExtents, FieldsKeepTheirWholeRange) {
  EXPECT_TRUE(fits([](Extent& e) { e.base_offset = 100 + Offset{kMax32}; }));
  EXPECT_TRUE(fits([](Extent& e) { e.append_time += Offset{kMax32} - 100; }));
  EXPECT_TRUE(fits([](Extent& e) { e.max_timestamp -= Offset{kMax32} - 100; }));
  EXPECT_TRUE(fits([](Extent& e) { e.object.sequence -= Offset{kMax32} - 100; }));
  EXPECT_TRUE(fits([](Extent& e) { e.last_offset_delta = (1 << 24) - 1; }));
  EXPECT_TRUE(fits([](Extent& e) { e.byte_offset = e.byte_length = e.object_size = kMax32; }));
  EXPECT_TRUE(fits([](Extent& e) { e.leader_epoch = std::numeric_limits<LeaderEpoch>::max(); }));
  EXPECT_TRUE(fits([](Extent& e) { e.object = {std::numeric_limits<BrokerEpoch>::max(), -5}; }));
  EXPECT_TRUE(fits([](Extent& e) { e.log_append_time = true; }));
}

TEST(PackedExtents, WhatLiesTooFarApartIsNotPacked) {
  EXPECT_FALSE(fits([](Extent& e) { e.base_offset = 101 + Offset{kMax32}; }));
  EXPECT_FALSE(fits([](Extent& e) { e.append_time += Offset{kMax32}; }));
  EXPECT_FALSE(fits([](Extent& e) { e.max_timestamp = kNoTimestamp; }));
  EXPECT_FALSE(fits([](Extent& e) { e.object.sequence = std::numeric_limits<int64_t>::max(); }));
  EXPECT_FALSE(fits([](Extent& e) { e.object.sequence = std::numeric_limits<int64_t>::min(); }));
  EXPECT_FALSE(fits([](Extent& e) { e.last_offset_delta = 1 << 24; }));
}

TEST(PackedExtents, EachMayBeOfAnotherBroker) {
  std::vector<Extent> extents;
  for (Offset i = 0; i < 256; ++i) {
    extents.push_back(extent(i * 10));
    extents.back().object = {1000 - i, i * 1'000'000'000'000};
  }
  EXPECT_TRUE(comes_back(extents));
}

}  // namespace
}  // namespace weir::metadata

#include "compaction/retention_rule.h"

#include <gtest/gtest.h>

namespace weir::compaction {
namespace {

// Ten extents of ten records and 100 bytes; extent i has timestamp 1000 * i.
metadata::PartitionView ten_extents(Offset log_start = 0) {
  metadata::ExtentList list;
  for (int i = 0; i < 10; ++i) {
    list.append({.base_offset = i * 10,
                 .max_timestamp = 1000 * i,
                 .last_offset_delta = 9,
                 .byte_length = 100});
  }
  return {
      .log_start = log_start, .high_watermark = 100, .live_bytes = 1000, .extents = list.view()};
}

TEST(Retention, WithoutLimitsNothingGoes) {
  EXPECT_EQ(retained_start(ten_extents(), {}, 1'000'000), 0);
}

TEST(Retention, ByTimeExtentsOlderThanTheLimitGo) {
  EXPECT_EQ(retained_start(ten_extents(), {.ms = 5000}, 8000), 30);
  // Exactly as old as the limit is not older.
  EXPECT_EQ(retained_start(ten_extents(), {.ms = 5000}, 7999), 30);
  EXPECT_EQ(retained_start(ten_extents(), {.ms = 5000}, 8001), 40);
  EXPECT_EQ(retained_start(ten_extents(), {.ms = 0}, 1'000'000), 100);
}

TEST(Retention, ARecordFromTheFutureKeepsThoseAfterIt) {
  metadata::ExtentList list;
  for (TimestampMs timestamp : {1000, 99'000, 2000}) {
    list.append({.base_offset = static_cast<Offset>(list.view().size()) * 10,
                 .max_timestamp = timestamp,
                 .last_offset_delta = 9,
                 .byte_length = 100});
  }
  metadata::PartitionView view{.high_watermark = 30, .live_bytes = 300, .extents = list.view()};
  EXPECT_EQ(retained_start(view, {.ms = 1000}, 50'000), 10);
}

TEST(Retention, RecordsWithoutATimestampAreAsOldAsTheirAppend) {
  metadata::ExtentList list;
  for (TimestampMs appended : {1000, 9000}) {
    list.append({.base_offset = static_cast<Offset>(list.view().size()) * 10,
                 .max_timestamp = kNoTimestamp,
                 .append_time = appended,
                 .last_offset_delta = 9,
                 .byte_length = 100});
  }
  metadata::PartitionView view{.high_watermark = 20, .live_bytes = 200, .extents = list.view()};
  EXPECT_EQ(retained_start(view, {.ms = 5000}, 6000), 0);
  EXPECT_EQ(retained_start(view, {.ms = 5000}, 10'000), 10);
}

TEST(Retention, BySizeAtLeastTheLimitStays) {
  EXPECT_EQ(retained_start(ten_extents(), {.bytes = 1000}, 0), 0);
  EXPECT_EQ(retained_start(ten_extents(), {.bytes = 950}, 0), 0);
  EXPECT_EQ(retained_start(ten_extents(), {.bytes = 900}, 0), 10);
  EXPECT_EQ(retained_start(ten_extents(), {.bytes = 250}, 0), 70);
  EXPECT_EQ(retained_start(ten_extents(), {.bytes = 0}, 0), 100);
}

TEST(Retention, TheLogStartNeverGoesBack) {
  EXPECT_EQ(retained_start(ten_extents(55), {.ms = 5000}, 8000), 55);
}

}  // namespace
}  // namespace weir::compaction

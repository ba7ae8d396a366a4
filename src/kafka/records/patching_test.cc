#include "kafka/records/patching.h"

#include "kafka/records/batch_builder.h"
#include "kafka/records/record_test_support.h"
#include "runtime/rng.h"

#include <gtest/gtest.h>

namespace weir::kafka {
namespace {

Slice random_batch(Rng& rng, std::size_t size) {
  std::vector<std::byte> bytes(kBatchHeaderSize + size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
  BatchHeader header{.attributes = 0x17,
                     .last_offset_delta = 9,
                     .base_timestamp = 5,
                     .max_timestamp = 77,
                     .records_count = 10};
  return seal_batch(std::move(bytes), header);
}

// §4.5: base offset and leader epoch lie outside the CRC, everything else stays.
TEST(Patching, OffsetAndEpochInAPrefixOfSixteenBytes) {
  Slice batch = read_corpus("batch_validation/kcat_lz4.bin");
  Chain chain;
  append_patched(
      chain, batch,
      {.base_offset = 0x1122334455667788, .leader_epoch = 0x01020304, .log_append_time = {}});
  ASSERT_EQ(chain.slices().size(), 2U);
  EXPECT_EQ(chain.slices()[0].size(), 16U);
  EXPECT_EQ(chain.slices()[1].data(), batch.data() + 16);
  EXPECT_EQ(chain.size(), batch.size());
  Slice flat = chain.flatten();
  RecordBatchView patched(flat.bytes());
  EXPECT_EQ(patched.base_offset(), 0x1122334455667788);
  EXPECT_EQ(patched.leader_epoch(), 0x01020304);
  EXPECT_EQ(patched.magic(), 2);
  EXPECT_TRUE(patched.crc_matches());
  EXPECT_EQ(patched.crc(), RecordBatchView(batch.bytes()).crc());
  // The stored bytes were not touched.
  EXPECT_EQ(RecordBatchView(batch.bytes()).base_offset(), 0);
}

// §4.5: the stamp's CRC comes from the header alone and equals one computed over everything.
TEST(Patching, LogAppendTimeStampHasTheRightCrc) {
  Rng rng(7);
  for (std::size_t size : {0, 1, 2, 3, 5, 100, 4096, 5000, 1'000'000}) {
    Slice batch = random_batch(rng, size);
    for (TimestampMs stamp :
         {TimestampMs{0}, TimestampMs{77}, TimestampMs{1'700'000'000'123}, TimestampMs{-1}}) {
      Chain chain;
      append_patched(chain, batch, {.base_offset = 3, .leader_epoch = 1, .log_append_time = stamp});
      ASSERT_EQ(chain.slices()[0].size(), kBatchHeaderSize);
      if (size > 0) EXPECT_EQ(chain.slices()[1].data(), batch.data() + kBatchHeaderSize);
      Slice flat = chain.flatten();
      RecordBatchView patched(flat.bytes());
      EXPECT_EQ(patched.attributes(), 0x1F);
      EXPECT_TRUE(patched.is_log_append_time());
      EXPECT_EQ(patched.max_timestamp(), stamp);
      EXPECT_EQ(patched.base_timestamp(), 5);
      EXPECT_EQ(patched.base_offset(), 3);
      EXPECT_TRUE(patched.crc_matches()) << size;
      EXPECT_EQ(as_text(patched.records()), as_text(RecordBatchView(batch.bytes()).records()));
    }
  }
}

// §4.5: a payload that rotted is still found out after the patch.
TEST(Patching, DoesNotHideBitRot) {
  Rng rng(8);
  Slice batch = random_batch(rng, 300);
  for (std::size_t at = batch_layout::kAttributes; at < batch.size(); at += 7) {
    std::vector<std::byte> rotten(batch.bytes().begin(), batch.bytes().end());
    rotten[at] ^= std::byte{0x10};
    Chain chain;
    append_patched(chain, Slice::of(rotten),
                   {.base_offset = 1, .leader_epoch = 0, .log_append_time = 123});
    Slice flat = chain.flatten();
    // Even in the bytes that are replaced: their difference to what the CRC was made of stays in
    // it.
    EXPECT_FALSE(RecordBatchView(flat.bytes()).crc_matches()) << at;
  }
}

TEST(Patching, RunsCountOffsetsOn) {
  Slice a = read_corpus("batch_validation/kcat_none.bin");
  Rng rng(9);
  Slice b = random_batch(rng, 50);  // ten records
  Chain stored(a);
  stored.append(b);
  stored.append(a);
  Slice run = stored.flatten();
  for (std::optional<TimestampMs> stamp :
       {std::optional<TimestampMs>{}, std::optional<TimestampMs>{999}}) {
    Chain chain;
    ASSERT_TRUE(append_patched_run(
        chain, run, {.base_offset = 1000, .leader_epoch = 6, .log_append_time = stamp}));
    EXPECT_EQ(chain.slices().size(), 6U);
    Slice flat = chain.flatten();
    BatchRun batches(flat.bytes());
    for (Offset base : {1000, 1060, 1070}) {
      auto batch = batches.next();
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->base_offset(), base);
      EXPECT_EQ(batch->leader_epoch(), 6);
      EXPECT_TRUE(batch->crc_matches());
      EXPECT_EQ(batch->is_log_append_time(), stamp.has_value());
    }
    EXPECT_FALSE(batches.next());
  }
  Chain none;
  Status cut = append_patched_run(none, run.sub(0, run.size() - 1), {});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(none.empty());
}

TEST(Patching, TimestampsInACopy) {
  Rng rng(10);
  Slice batch = random_batch(rng, 1000);
  Slice patched = with_timestamps(batch, 0x07, -5);
  RecordBatchView view(patched.bytes());
  EXPECT_EQ(view.attributes(), 0x07);
  EXPECT_EQ(view.max_timestamp(), -5);
  EXPECT_TRUE(view.crc_matches());
  EXPECT_EQ(RecordBatchView(batch.bytes()).max_timestamp(), 77);
}

}  // namespace
}  // namespace weir::kafka

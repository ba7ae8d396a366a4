#include "kafka/records/record_batch.h"

#include "kafka/records/batch_builder.h"
#include "kafka/records/record_test_support.h"

#include <gtest/gtest.h>

namespace weir::kafka {
namespace {

// Written by librdkafka 2.0.2 (kcat), stored by Apache Kafka 4.4; the values were read from a hex
// dump.
TEST(RecordBatchView, HeaderOfARealBatch) {
  Slice bytes = read_corpus("batch_validation/kcat_none.bin");
  auto batch = RecordBatchView::first_of(bytes.bytes());
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->size(), 0xCD7 + 12U);
  EXPECT_EQ(batch->base_offset(), 0);
  EXPECT_EQ(batch->leader_epoch(), 0);
  EXPECT_EQ(batch->magic(), 2);
  EXPECT_EQ(batch->crc(), 0x5F451E68U);
  EXPECT_EQ(batch->attributes(), 0);
  EXPECT_EQ(batch->last_offset_delta(), 0x3B);
  EXPECT_EQ(batch->last_offset(), 59);
  EXPECT_EQ(batch->base_timestamp(), 0x1A2286E6322);
  EXPECT_EQ(batch->producer_id(), 0);
  EXPECT_EQ(batch->producer_epoch(), 0);
  EXPECT_EQ(batch->base_sequence(), 0);
  EXPECT_EQ(batch->last_sequence(), 59);
  EXPECT_EQ(batch->records_count(), 60);
  EXPECT_TRUE(batch->crc_matches());
}

TEST(RecordBatchView, EveryFieldHasItsPlace) {
  // Each field of the header has bytes of its own; the layout is the protocol's.
  Slice bytes = from_hex(
      "0102030405060708"
      "00000033"
      "11121314"
      "02"
      "21222324"
      "0037"
      "31323334"
      "4142434445464748"
      "5152535455565758"
      "6162636465666768"
      "7172"
      "01020304"
      "05060708"
      "a1a2");
  auto batch = RecordBatchView::first_of(bytes.bytes());
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->base_offset(), 0x0102030405060708);
  EXPECT_EQ(batch->leader_epoch(), 0x11121314);
  EXPECT_EQ(batch->crc(), 0x21222324U);
  EXPECT_EQ(batch->codec_id(), 7);
  EXPECT_FALSE(batch->is_log_append_time());
  EXPECT_TRUE(batch->is_transactional());
  EXPECT_TRUE(batch->is_control());
  EXPECT_FALSE(batch->has_delete_horizon());
  EXPECT_EQ(batch->last_offset_delta(), 0x31323334);
  EXPECT_EQ(batch->base_timestamp(), 0x4142434445464748);
  EXPECT_EQ(batch->max_timestamp(), 0x5152535455565758);
  EXPECT_EQ(batch->producer_id(), 0x6162636465666768);
  EXPECT_EQ(batch->producer_epoch(), 0x7172);
  EXPECT_EQ(batch->base_sequence(), 0x01020304);
  EXPECT_EQ(batch->records_count(), 0x05060708);
  EXPECT_EQ(to_hex(batch->records()), "a1a2");
}

TEST(RecordBatchView, SequencesWrapInsideABatch) {
  EXPECT_EQ(advance_sequence(5, 0), 5);
  EXPECT_EQ(advance_sequence(2147483647, 0), 2147483647);
  EXPECT_EQ(advance_sequence(2147483647, 1), 0);
  EXPECT_EQ(advance_sequence(2147483640, 17), 9);
  BatchOptions options;
  options.producer_id = 1;
  options.base_sequence = 2147483646;
  RecordBatchBuilder builder(options);
  for (int i = 0; i < 4; ++i) builder.append(0, std::nullopt, std::nullopt);
  EXPECT_EQ(RecordBatchView(builder.build()->bytes()).last_sequence(), 1);
  builder = RecordBatchBuilder({});
  builder.append(0, std::nullopt, std::nullopt);
  EXPECT_EQ(RecordBatchView(builder.build()->bytes()).last_sequence(), -1);
}

TEST(RecordBatchView, RefusesWhatIsNoWholeBatch) {
  Slice bytes = read_corpus("batch_validation/kcat_zstd.bin");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    auto batch = RecordBatchView::first_of(bytes.bytes().first(size));
    ASSERT_FALSE(batch) << size;
    EXPECT_EQ(batch.error().code, ErrorCode::kCorrupt);
  }
  for (std::int32_t length : {48, 0, -1, -12, INT32_MIN, INT32_MAX}) {
    std::vector<std::byte> copy(bytes.bytes().begin(), bytes.bytes().end());
    store_big_endian(copy.data() + batch_layout::kBatchLength, length);
    EXPECT_FALSE(RecordBatchView::first_of(copy)) << length;
  }
  std::vector<std::byte> magic(bytes.bytes().begin(), bytes.bytes().end());
  magic[batch_layout::kMagic] = std::byte{1};
  EXPECT_FALSE(RecordBatchView::first_of(magic));
}

TEST(RecordBatchView, CrcCoversAttributesToTheEnd) {
  Slice bytes = read_corpus("batch_validation/java_lz4.bin");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> copy(bytes.bytes().begin(), bytes.bytes().end());
    copy[at] ^= std::byte{4};
    // The CRC field itself counts as covered: a change there does not match either.
    EXPECT_EQ(RecordBatchView(copy).crc_matches(), at < batch_layout::kCrc) << at;
  }
}

TEST(BatchRun, WalksWholeBatchesOnly) {
  Slice a = read_corpus("batch_validation/kcat_gzip.bin");
  Slice b = read_corpus("batch_validation/java_none.bin");
  Chain both(a);
  both.append(b);
  Slice run = both.flatten();
  BatchRun batches(run.bytes());
  EXPECT_EQ(batches.next()->size(), a.size());
  EXPECT_EQ(batches.next()->size(), b.size());
  EXPECT_FALSE(batches.next());
  EXPECT_TRUE(batches.status());

  BatchRun cut(run.bytes().first(run.size() - 1));
  EXPECT_TRUE(cut.next());
  EXPECT_FALSE(cut.next());
  EXPECT_EQ(cut.status().error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(cut.next());
}

}  // namespace
}  // namespace weir::kafka

#include "metadata/state/commit_object.h"

#include "metadata/state/test_log.h"
#include "runtime/rng.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::metadata {
namespace {

Result<CommitObject> round_trip(const CommitObject& command) {
  ByteWriter out;
  write(out, command);
  ByteReader in(out.view());
  return read_commit_object(in);
}

CommitObject one_batch() { return ObjectBuilder(3).run(topic_id("a")).batch(1).command(); }

TEST(CommitObject, ComesBackAsItWas) {
  CommitObject command = ObjectBuilder(std::numeric_limits<std::int64_t>::max())
                             .run(topic_id("a"), 5)
                             .batch(1)
                             .batch(10, 7, 3, 0)
                             .batch(10, 7, 3, 10)
                             .log_append_time()
                             .run(topic_id("a"), 2)
                             .batch(std::numeric_limits<std::int32_t>::max(), 8, 32767, 2147483647)
                             .run(topic_id("b"), 2147483647)
                             .batch(3, std::numeric_limits<std::int64_t>::max(), 0, 0)
                             .batch(1)
                             .log_append_time()
                             .command();
  command.batches[0].max_timestamp = -1;
  command.batches[1].max_timestamp = std::numeric_limits<std::int64_t>::max();
  // Not where the run before ends.
  command.object_size += 500;
  command.runs[2].byte_offset += 500;
  ASSERT_TRUE(check(command));
  EXPECT_EQ(round_trip(command).value(), command);
}

TEST(CommitObject, TakesAboutTwentyBytesForARunOfOneBatch) {
  Rng rng(1);
  ObjectBuilder builder(1000);
  ObjectBuilder plain(1000);
  constexpr int kRuns = 1600;
  for (int i = 0; i < kRuns; ++i) {
    builder.run(topic_id("a"), i)
        .batch(1 + static_cast<int>(rng.below(100)),
               static_cast<ProducerId>(5000 + rng.below(1000)), 0,
               static_cast<std::int32_t>(rng.below(1'000'000)));
    plain.run(topic_id("a"), i).batch(1 + static_cast<int>(rng.below(100)));
  }
  ByteWriter with_producers;
  write(with_producers, builder.command());
  EXPECT_LE(with_producers.size(), kRuns * 20U);
  ByteWriter without;
  write(without, plain.command());
  EXPECT_LE(without.size(), kRuns * 8U);
}

TEST(CommitObject, CheckFindsWhatDoesNotFitTogether) {
  EXPECT_TRUE(check(one_batch()));
  auto wrong = [](auto change) {
    CommitObject command = one_batch();
    change(command);
    auto status = check(command);
    return !status && status.error().code == ErrorCode::kInvalid;
  };
  EXPECT_TRUE(wrong([](CommitObject& c) { c.object.sequence = -1; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.object.epoch = -1; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.runs.clear(); }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.runs[0].batch_count = 0; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.runs[0].batch_count = 2; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.runs[0].partition = -1; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.runs[0].byte_offset = 1; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.batches.push_back(c.batches[0]); }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.batches[0].length = 0; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.batches[0].length = 0xFFFFFFFF; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.batches[0].last_offset_delta = -1; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.batches[0].max_timestamp = -2; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.batches[0].producer_id = 1; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.batches[0].base_sequence = 1; }));
  EXPECT_TRUE(wrong([](CommitObject& c) { c.batches[0].producer_epoch = 0; }));
}

TEST(CommitObject, DamagedBytesAreRefused) {
  ByteWriter out;
  write(out, ObjectBuilder(3).run(topic_id("a")).batch(1, 5, 0, 0).batch(2).command());
  for (std::size_t size = 0; size < out.size(); ++size) {
    ByteReader in(out.view().first(size));
    auto read = read_commit_object(in);
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
  }
  out.u8(0);
  ByteReader longer(out.view());
  EXPECT_FALSE(read_commit_object(longer));
}

TEST(CommitObject, UnknownFlagsAreRefused) {
  ByteWriter out;
  write(out, ObjectBuilder(3).run(topic_id("a")).batch(1).command());
  std::vector<std::byte> bytes = out.release();
  // The flags of a batch without producer stand at the end.
  for (int flags = 0; flags < 256; ++flags) {
    bytes.back() = static_cast<std::byte>(flags);
    ByteReader in(bytes);
    EXPECT_EQ(read_commit_object(in).has_value(), flags == 0 || flags == 4) << flags;
  }
}

TEST(CommitObject, AHugeCountAllocatesNothing) {
  ByteWriter out;
  out.uvarlong(1);
  out.uvarlong(1);
  out.uvarint(1);
  out.uvarint(0xFFFFFFFF);
  ByteReader in(out.view());
  EXPECT_FALSE(read_commit_object(in));
}

TEST(CommitObject, JsonShowsRunsWithTheirBatches) {
  kafka::JsonWriter out;
  write_json(out,
             ObjectBuilder(3).run(topic_id("a"), 4).batch(2, 9, 1, 5).log_append_time().command());
  std::string json = out.release();
  EXPECT_NE(
      json.find(R"("partition":4,"byte_offset":0,"batches":[{"length":100,"last_offset_delta":1)"),
      std::string::npos)
      << json;
  EXPECT_NE(
      json.find(R"("producer_id":9,"producer_epoch":1,"base_sequence":5,"log_append_time":true)"),
      std::string::npos)
      << json;
}

}  // namespace
}  // namespace weir::metadata

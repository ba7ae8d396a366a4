#include "kafka/records/timestamp_search.h"

#include "kafka/records/batch_builder.h"
#include "kafka/records/record_test_support.h"
#include "kafka/records/validation.h"

#include <gtest/gtest.h>

namespace weir::kafka {
namespace {

struct StoredBatch {
  Slice batch;
  BatchAssignment assignment;
  TimestampMs max_timestamp = kNoTimestamp;
};

// A log as Weir keeps it: batches as produced, and what their commit gave them.
std::vector<StoredBatch> log_of(const VectorCase& test) {
  ValidationRules rules;
  rules.log_append_time = test.find("config") == "message.timestamp.type=LogAppendTime";
  std::vector<StoredBatch> log;
  for (const std::string& line : test.all("append")) {
    std::istringstream in(line);
    StoredBatch stored;
    TimestampMs now = 0;
    std::string hex;
    in >> stored.assignment.base_offset >> now >> hex;
    AcceptedBatch accepted = validate_batch(from_hex(hex), rules, now).value();
    stored.batch = accepted.batch;
    stored.max_timestamp = accepted.max_timestamp;
    if (rules.log_append_time) stored.assignment.log_append_time = stored.max_timestamp = now;
    log.push_back(stored);
  }
  return log;
}

std::string answer(const std::vector<StoredBatch>& log, TimestampMs target, Offset start) {
  std::optional<TimestampHit> hit;
  if (target == -3) {
    const StoredBatch* greatest = nullptr;
    for (const StoredBatch& stored : log) {
      if (!greatest || stored.max_timestamp > greatest->max_timestamp) greatest = &stored;
    }
    if (greatest) {
      hit = find_max_timestamp(greatest->batch.bytes(), greatest->assignment, kTestLimit).value();
    }
  } else {
    for (const StoredBatch& stored : log) {
      if (hit || stored.max_timestamp < target) continue;
      hit = find_timestamp(stored.batch.bytes(), stored.assignment, target, start, kTestLimit)
                .value();
    }
  }
  return hit ? fmt::format("{} {}", hit->timestamp, hit->offset) : "none";
}

// §3.1 cases 1, 2, 5, 7 and 8: the answers of Apache Kafka 4.4 for logs with create times out of
// order and with append times.
TEST(TimestampSearch, AnswersLikeKafka) {
  int queries = 0;
  for (const VectorCase& test : read_vectors("list_offsets.txt")) {
    SCOPED_TRACE(test.name());
    std::vector<StoredBatch> log = log_of(test);
    Offset start = std::stoll(*test.find("log_start"));
    for (const std::string& line : test.all("query")) {
      SCOPED_TRACE(line);
      std::size_t space = line.find(' ');
      EXPECT_EQ(answer(log, std::stoll(line.substr(0, space)), start), line.substr(space + 1));
      ++queries;
    }
  }
  EXPECT_GT(queries, 400);
}

TEST(TimestampSearch, Case7StampedBatchGivesItsFirstRecord) {
  BatchOptions options;
  options.log_append_time = 500;
  RecordBatchBuilder builder(options);
  for (TimestampMs timestamp : {100, 900, 300})
    builder.append(timestamp, std::nullopt, std::nullopt);
  Slice batch = builder.build().value();
  BatchAssignment assignment{.base_offset = 40, .leader_epoch = 0, .log_append_time = {}};
  auto hit = find_timestamp(batch.bytes(), assignment, 500, 0, kTestLimit).value();
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->offset, 40);
  EXPECT_EQ(hit->timestamp, 500);
  EXPECT_FALSE(find_timestamp(batch.bytes(), assignment, 501, 0, kTestLimit).value());
  EXPECT_EQ(find_max_timestamp(batch.bytes(), assignment, kTestLimit).value()->offset, 40);
  // The commit's stamp wins over the records' times.
  assignment.log_append_time = 700;
  EXPECT_EQ(find_timestamp(batch.bytes(), assignment, 600, 42, kTestLimit).value()->offset, 42);
  EXPECT_EQ(find_max_timestamp(batch.bytes(), assignment, kTestLimit).value()->timestamp, 700);
}

// A batch that compaction emptied keeps its offsets and has no record.
TEST(TimestampSearch, EmptyBatchHasNoHit) {
  BatchHeader header{.last_offset_delta = 7};
  Slice batch = seal_batch(std::vector<std::byte>(kBatchHeaderSize), header);
  EXPECT_FALSE(find_timestamp(batch.bytes(), {}, -1, 0, kTestLimit).value());
  EXPECT_FALSE(find_max_timestamp(batch.bytes(), {}, kTestLimit).value());
}

TEST(TimestampSearch, DamagedBatchesGiveErrors) {
  Slice batch = read_corpus("batch_validation/kcat_zstd.bin");
  BatchAssignment assignment;
  EXPECT_EQ(find_max_timestamp(batch.bytes().first(60), assignment, kTestLimit).error().code,
            ErrorCode::kCorrupt);
  EXPECT_EQ(find_max_timestamp(batch.bytes(), assignment, 100).error().code, ErrorCode::kExhausted);
  std::vector<std::byte> rotten(batch.bytes().begin(), batch.bytes().end());
  rotten[kBatchHeaderSize] ^= std::byte{1};
  EXPECT_EQ(find_timestamp(rotten, assignment, INT64_MAX, 0, kTestLimit).error().code,
            ErrorCode::kCorrupt);
  rotten[batch_layout::kAttributes + 1] = std::byte{7};
  EXPECT_EQ(find_timestamp(rotten, assignment, 0, 0, kTestLimit).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace weir::kafka

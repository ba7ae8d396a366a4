#include "kafka/records/record.h"

#include "kafka/records/batch_builder.h"
#include "kafka/records/record_test_support.h"
#include "kafka/records/record_walker.h"

#include <gtest/gtest.h>

namespace weir::kafka {
namespace {

// The records of tests/vectors/records/lines.txt as text, apart from their timestamps.
std::vector<std::pair<std::string, std::string>> produced_lines() {
  std::ifstream file(WEIR_TEST_VECTORS "/records/lines.txt");
  std::vector<std::pair<std::string, std::string>> out;
  for (std::string line; std::getline(file, line);) {
    std::size_t colon = line.find(':');
    out.emplace_back(line.substr(0, colon), line.substr(colon + 1));
  }
  return out;
}

struct Walked {
  std::vector<RecordInfo> records;
  bool at_end = false;
  Status status;
};

Walked walk(ChunkSource& source, std::int32_t limit = INT32_MAX) {
  RecordWalker walker(source, limit);
  Walked out;
  RecordInfo record;
  while (walker.next(record)) out.records.push_back(record);
  out.at_end = walker.at_end();
  out.status = walker.status();
  return out;
}

Walked walk(Bytes bytes) {
  ContiguousSource source(bytes);
  return walk(source);
}

// What real producers wrote: 60 lines, by librdkafka (kcat) with two headers and by the Java
// console producer.
TEST(Records, OfRealProducersInEveryCodec) {
  auto lines = produced_lines();
  ASSERT_EQ(lines.size(), 60U);
  for (std::string client : {"kcat", "java"}) {
    for (std::string codec : {"none", "gzip", "snappy", "lz4", "zstd"}) {
      std::string file = fmt::format("batch_validation/{}_{}.bin", client, codec);
      SCOPED_TRACE(file);
      Slice bytes = read_corpus(file);
      RecordBatchView batch(bytes.bytes());
      EXPECT_EQ(to_string(batch.codec()), codec);
      auto records = decompress(batch.codec(), bytes.sub(kBatchHeaderSize), kTestLimit);
      ASSERT_TRUE(records);
      RecordReader reader(records->bytes());
      for (std::size_t i = 0; i < lines.size(); ++i) {
        auto record = reader.next();
        ASSERT_TRUE(record);
        EXPECT_EQ(record->offset_delta, static_cast<std::int32_t>(i));
        EXPECT_EQ(as_text(*record->key), lines[i].first);
        EXPECT_EQ(as_text(record->value.value_or(Bytes{})), lines[i].second);
        std::string headers;
        record->headers.for_each([&](const RecordHeader& header) {
          headers += fmt::format("{}={};", header.key, as_text(*header.value));
        });
        EXPECT_EQ(headers, client == "kcat" ? "origin=kcat;empty=;" : "");
      }
      EXPECT_FALSE(reader.next());
      EXPECT_TRUE(reader.status());
    }
  }
}

// A null value is not an empty one, keys of headers may be empty, duplicates and order are kept.
// The bytes are Kafka's own encoder's.
TEST(Records, NullEmptyAndDuplicateHeaders) {
  Slice body = from_hex(
      "3a0000000a6b65792d610e76616c75652d61060468310278000104683100"
      "1a00090201"
      "0e76616c75652d62"
      "00"
      "0c000e0400"
      "0100");
  RecordReader reader(body.bytes());
  auto first = reader.next();
  ASSERT_TRUE(first);
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;
  first->headers.for_each([&](const RecordHeader& header) {
    std::optional<std::string> value;
    if (header.value) value = std::string(as_text(*header.value));
    headers.emplace_back(header.key, value);
  });
  using Header = std::pair<std::string, std::optional<std::string>>;
  EXPECT_EQ(headers, (std::vector<Header>{{"h1", "x"}, {"", std::nullopt}, {"h1", ""}}));
  auto second = reader.next();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->key);
  EXPECT_EQ(second->timestamp_delta, -5);
  EXPECT_EQ(as_text(*second->value), "value-b");
  auto third = reader.next();
  ASSERT_TRUE(third);
  ASSERT_TRUE(third->key);
  EXPECT_TRUE(third->key->empty());
  EXPECT_FALSE(third->value);
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.status());

  // The writer gives the same bytes.
  ByteWriter out;
  for (const RecordView& record : {*first, *second, *third}) write_record(out, record);
  EXPECT_EQ(to_hex(out.view()), to_hex(body.bytes()));
}

TEST(Records, WriterHoldsTheExtremes) {
  std::string big(200, 'x');
  RecordView record;
  record.timestamp_delta = INT64_MIN;
  record.offset_delta = INT32_MAX;
  record.value = as_bytes(big);
  ByteWriter out;
  write_record(out, record);
  RecordReader reader(out.view());
  auto back = reader.next();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->timestamp_delta, INT64_MIN);
  EXPECT_EQ(back->offset_delta, INT32_MAX);
  EXPECT_EQ(back->value->size(), 200U);
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.status());
}

TEST(RecordWalker, SeesTheSameWithChunksOfAnySize) {
  for (std::size_t chunk : {1, 2, 3, 7, 64, 100000}) {
    Slice bytes = read_corpus("batch_validation/kcat_none.bin");
    ChoppedSource source(RecordBatchView(bytes.bytes()).records(), chunk);
    Walked walked = walk(source);
    ASSERT_TRUE(walked.status) << walked.status.error().message;
    ASSERT_EQ(walked.records.size(), 60U);
    EXPECT_TRUE(walked.at_end);
    for (std::int32_t i = 0; i < 60; ++i) {
      EXPECT_EQ(walked.records[static_cast<std::size_t>(i)].offset_delta, i);
      EXPECT_TRUE(walked.records[static_cast<std::size_t>(i)].has_key);
    }
  }
}

TEST(RecordWalker, TellsNullFromPresent) {
  Walked walked = walk(from_hex("0c0000000101"
                                "00"
                                "0e0000000001"
                                "0000")
                           .bytes());
  ASSERT_FALSE(walked.status);  // the second record is a byte short of its length
  ASSERT_EQ(walked.records.size(), 1U);
  EXPECT_FALSE(walked.records[0].has_key);
  EXPECT_FALSE(walked.records[0].has_value);
  walked = walk(from_hex("0c00000000"
                         "0100"
                         "0e00000001"
                         "02aa00")
                    .bytes());
  ASSERT_TRUE(walked.status) << walked.status.error().message;
  ASSERT_EQ(walked.records.size(), 2U);
  EXPECT_TRUE(walked.records[0].has_key);
  EXPECT_FALSE(walked.records[0].has_value);
  EXPECT_FALSE(walked.records[1].has_key);
  EXPECT_TRUE(walked.records[1].has_value);
}

// The rules of the record format: both readers refuse each of these.
TEST(Records, MalformedOnesAreRefused) {
  const std::pair<const char*, const char*> bad[] = {
      {"length over the end",
       "0e000000"
       "0100"},
      {"length shorter than the fields",
       "0a000000"
       "010100"},
      {"length longer than the fields",
       "0e000000"
       "01010000"},
      {"negative length",
       "01000000"
       "010100"},
      {"key length -2",
       "0c000000"
       "030100"},
      {"value length -2",
       "0c000000"
       "010300"},
      {"key over the end",
       "0c000000"
       "2001"},
      {"negative number of headers",
       "0c000000"
       "010101"},
      {"more headers than bytes",
       "0e000000"
       "0101c801"},
      {"header with null key",
       "10000000"
       "01010201"
       "00"},
      {"header value length -2",
       "10000000"
       "01010200"
       "03"},
      {"offset delta of six bytes",
       "16000080"
       "80808080"
       "00"
       "010100"},
      {"offset delta over 32 bits",
       "14000080"
       "80808010"
       "010100"},
      {"timestamp delta of eleven bytes",
       "2000"
       "8080808080808080808000"
       "00"
       "010100"},
      {"timestamp delta over 64 bits",
       "1e00"
       "80808080808080808002"
       "00"
       "010100"},
      {"length of six bytes",
       "8c8080808000"
       "000000"
       "010100"},
  };
  for (const auto& [what, hex] : bad) {
    SCOPED_TRACE(what);
    Slice bytes = from_hex(hex);
    RecordReader reader(bytes.bytes());
    EXPECT_FALSE(reader.next());
    ASSERT_FALSE(reader.status());
    EXPECT_EQ(reader.status().error().code, ErrorCode::kCorrupt);
    for (std::size_t chunk : {1, 100}) {
      ChoppedSource source(bytes.bytes(), chunk);
      Walked walked = walk(source);
      EXPECT_TRUE(walked.records.empty());
      ASSERT_FALSE(walked.status);
      EXPECT_EQ(walked.status.error().code, ErrorCode::kCorrupt);
    }
  }
}

TEST(Records, LongestVarintsAreRead) {
  // Five bytes for 2^31 - 1 and -2^31, ten for -2^63; a padded zero is a zero.
  const char* good[] = {
      "1400"
      "00"
      "feffffff0f"
      "010100",
      "1400"
      "00"
      "ffffffff0f"
      "010100",
      "1e00"
      "ffffffffffffffffff01"
      "00"
      "010100",
      "1400"
      "00"
      "8080808000"
      "010100"};
  const std::int64_t offsets[] = {INT32_MAX, INT32_MIN, 0, 0};
  const std::int64_t timestamps[] = {0, 0, INT64_MIN, 0};
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(good[i]);
    Slice bytes = from_hex(good[i]);
    RecordReader reader(bytes.bytes());
    auto record = reader.next();
    ASSERT_TRUE(record);
    EXPECT_EQ(record->offset_delta, offsets[i]);
    EXPECT_EQ(record->timestamp_delta, timestamps[i]);
    Walked walked = walk(bytes.bytes());
    ASSERT_EQ(walked.records.size(), 1U);
    EXPECT_EQ(walked.records[0].offset_delta, offsets[i]);
    EXPECT_EQ(walked.records[0].timestamp_delta, timestamps[i]);
  }
}

TEST(RecordWalker, LimitsTheLengthOfARecord) {
  Slice bytes = read_corpus("batch_validation/java_none.bin");
  Bytes records = RecordBatchView(bytes.bytes()).records();
  ContiguousSource all(records);
  EXPECT_TRUE(walk(all, 100).status);
  ContiguousSource some(records);
  Walked walked = walk(some, 30);
  ASSERT_FALSE(walked.status);
  EXPECT_EQ(walked.status.error().code, ErrorCode::kCorrupt);
}

class FailingSource final : public ChunkSource {
 public:
  explicit FailingSource(Bytes first) : first_(first) {}
  Result<Bytes> next() override {
    if (!first_.empty()) return std::exchange(first_, {});
    return fail(ErrorCode::kExhausted, "enough");
  }

 private:
  Bytes first_;
};

TEST(RecordWalker, PassesTheErrorOfItsSourceOn) {
  Slice bytes = from_hex(
      "0c000000"
      "010100"
      "0c0000");
  for (std::size_t size : {7, 10}) {
    FailingSource source(bytes.bytes().first(size));
    Walked walked = walk(source);
    EXPECT_EQ(walked.records.size(), 1U);
    ASSERT_FALSE(walked.status);
    EXPECT_EQ(walked.status.error().code, ErrorCode::kExhausted);
  }
}

TEST(RecordBatchBuilder, BuildsWhatItsReaderReads) {
  for (int codec = 0; codec < kCodecCount; ++codec) {
    BatchOptions options;
    options.compression.codec = static_cast<Codec>(codec);
    options.base_offset = 100;
    options.leader_epoch = 4;
    options.producer_id = 9;
    options.producer_epoch = 2;
    options.base_sequence = 3;
    options.transactional = true;
    RecordBatchBuilder builder(options);
    builder.append(1000, as_bytes("k"), as_bytes("v"), {{"h", as_bytes("x")}, {"", std::nullopt}});
    builder.append(990, std::nullopt, std::nullopt);
    builder.append(1020, as_bytes(""), as_bytes(""));
    EXPECT_EQ(builder.count(), 3);
    auto bytes = builder.build();
    ASSERT_TRUE(bytes);
    EXPECT_EQ(builder.count(), 0);
    RecordBatchView batch(bytes->bytes());
    EXPECT_TRUE(batch.crc_matches());
    EXPECT_EQ(batch.size(), bytes->size());
    EXPECT_EQ(batch.attributes(), kTransactionalBit | codec);
    EXPECT_EQ(batch.last_offset(), 102);
    EXPECT_EQ(batch.leader_epoch(), 4);
    EXPECT_EQ(batch.producer_id(), 9);
    EXPECT_EQ(batch.producer_epoch(), 2);
    EXPECT_EQ(batch.last_sequence(), 5);
    EXPECT_EQ(batch.max_timestamp(), 1020);
    EXPECT_EQ(records_of(*bytes),
              (std::vector<std::string>{"100 1000 6b 76 68=78 empty=null", "101 990 null null",
                                        "102 1020 empty empty"}));
  }
}

}  // namespace
}  // namespace weir::kafka

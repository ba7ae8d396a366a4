#include "kafka/records/validation.h"

#include "kafka/records/batch_builder.h"
#include "kafka/records/patching.h"
#include "kafka/records/record_test_support.h"

#include <gtest/gtest.h>
#include <lz4frame.h>

namespace weir::kafka {
namespace {

constexpr TimestampMs kNow = 1'700'000'000'000;

BatchVerdict validate(const Slice& batch, const ValidationRules& rules = {}) {
  return validate_batch(batch, rules, kNow);
}

// The CRC set right again after a change of the bytes.
Slice resealed(std::vector<std::byte> bytes) {
  store_big_endian(bytes.data() + batch_layout::kCrc, RecordBatchView(bytes).computed_crc());
  return Slice::of(std::move(bytes));
}

std::vector<std::byte> copy_of(const Slice& slice) {
  return {slice.bytes().begin(), slice.bytes().end()};
}

struct TestRecord {
  TimestampMs timestamp = kNow;
  std::optional<std::string> key = "key";
  std::string value = "value";
};

Slice batch_of(const std::vector<TestRecord>& records, BatchOptions options = {}) {
  RecordBatchBuilder builder(options);
  for (const TestRecord& record : records) {
    std::optional<Bytes> key;
    if (record.key) key = as_bytes(*record.key);
    builder.append(record.timestamp, key, as_bytes(record.value));
  }
  return builder.build().value();
}

void expect_error(const BatchVerdict& verdict, KafkaError error) {
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().error, error) << verdict.error().message;
  EXPECT_FALSE(verdict.error().message.empty());
}

// A batch of one record per key and no compression, then with a field of its header set.
template <typename T>
Slice with_field(std::size_t at, T value) {
  std::vector<std::byte> bytes = copy_of(batch_of({{}, {}, {}}));
  store_big_endian(bytes.data() + at, value);
  return resealed(std::move(bytes));
}

TEST(Validation, HandsAGoodBatchOnWithoutACopy) {
  for (std::string client : {"kcat", "java"}) {
    for (std::string codec : {"none", "gzip", "snappy", "lz4", "zstd"}) {
      Slice batch = read_corpus(fmt::format("batch_validation/{}_{}.bin", client, codec));
      ValidationRules rules;
      rules.timestamp_after_max_ms = INT64_MAX;
      for (bool padded : {false, true}) {
        // An incomplete batch behind it is cut off.
        Chain chain(batch);
        if (padded) chain.append(batch.sub(0, 70));
        Slice given = chain.flatten();
        BatchVerdict verdict = validate(given, rules);
        ASSERT_TRUE(verdict) << client << codec << verdict.error().message;
        EXPECT_FALSE(verdict->rewritten);
        EXPECT_EQ(verdict->batch.data(), given.data());
        EXPECT_EQ(verdict->batch.size(), batch.size());
        EXPECT_EQ(verdict->record_count, 60);
        EXPECT_EQ(verdict->max_timestamp, RecordBatchView(batch.bytes()).max_timestamp());
      }
    }
  }
}

TEST(Validation, ReportsTheProducer) {
  BatchOptions options;
  options.producer_id = 77;
  options.producer_epoch = 5;
  options.base_sequence = INT32_MAX;
  options.transactional = true;
  BatchVerdict verdict = validate(batch_of({{}, {kNow + 5}, {}}, options));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->producer_id, 77);
  EXPECT_EQ(verdict->producer_epoch, 5);
  EXPECT_EQ(verdict->base_sequence, INT32_MAX);
  EXPECT_EQ(verdict->last_sequence, 1);
  EXPECT_TRUE(verdict->transactional);
  EXPECT_EQ(verdict->max_timestamp, kNow + 5);
}

// §3.3 case 32.
TEST(Validation, Case32BatchRules) {
  Slice good = batch_of({{}, {}, {}});
  expect_error(validate(Slice()), KafkaError::kInvalidRecord);
  Chain two(good);
  two.append(good);
  expect_error(validate(two.flatten()), KafkaError::kInvalidRecord);
  expect_error(validate(with_field(batch_layout::kBaseOffset, std::int64_t{1})),
               KafkaError::kInvalidRecord);
  for (std::int32_t count : {0, -1, 2, 4, INT32_MAX}) {
    expect_error(validate(with_field(batch_layout::kRecordsCount, count)),
                 KafkaError::kInvalidRecord);
    expect_error(validate(with_field(batch_layout::kLastOffsetDelta, count - 1)),
                 KafkaError::kInvalidRecord);
  }
  expect_error(validate(with_field(batch_layout::kAttributes, kControlBit)),
               KafkaError::kInvalidRecord);
  expect_error(validate(with_field(batch_layout::kProducerId, std::int64_t{0})),
               KafkaError::kInvalidRecord);
  std::vector<std::byte> flipped = copy_of(good);
  flipped.back() ^= std::byte{1};
  expect_error(validate(Slice::of(flipped)), KafkaError::kCorruptMessage);
}

// §3.3 case 50.
TEST(Validation, Case50LegacyMagic) {
  expect_error(validate(with_field(batch_layout::kMagic, std::int8_t{0})),
               KafkaError::kInvalidRecord);
  expect_error(validate(with_field(batch_layout::kMagic, std::int8_t{1})),
               KafkaError::kInvalidRecord);
  expect_error(validate(with_field(batch_layout::kMagic, std::int8_t{3})),
               KafkaError::kCorruptMessage);
}

// §3.3 case 33.
TEST(Validation, Case33Sizes) {
  Slice batch = batch_of({{}, {}});
  ValidationRules rules;
  rules.max_message_bytes = batch.size();
  EXPECT_TRUE(validate(batch, rules));
  rules.max_message_bytes = batch.size() - 1;
  expect_error(validate(batch, rules), KafkaError::kMessageTooLarge);
  // Before the CRC.
  std::vector<std::byte> flipped = copy_of(batch);
  flipped.back() ^= std::byte{1};
  expect_error(validate(Slice::of(flipped), rules), KafkaError::kMessageTooLarge);

  rules.max_message_bytes = 1'000'000;
  rules.segment_bytes = batch.size();
  EXPECT_TRUE(validate(batch, rules));
  rules.segment_bytes = batch.size() - 1;
  expect_error(validate(batch, rules), KafkaError::kRecordListTooLarge);
}

TEST(Validation, Case33SizeAfterRecompression) {
  BatchOptions options;
  options.compression.codec = Codec::kZstd;
  TestRecord big{.value = std::string(5000, 'x')};
  ValidationRules rules;
  rules.compression = Compression{};
  rules.max_message_bytes = 5000;
  expect_error(validate(batch_of({big}, options), rules), KafkaError::kMessageTooLarge);
  rules.max_message_bytes = 5000 + 100;
  EXPECT_TRUE(validate(batch_of({big}, options), rules));
  // What is wrong with the records comes first.
  rules.max_message_bytes = 5000;
  rules.compacted = true;
  big.key = std::nullopt;
  expect_error(validate(batch_of({big}, options), rules), KafkaError::kInvalidRecord);
}

// §3.3 case 34.
TEST(Validation, Case34NullKeyOnCompactedTopic) {
  ValidationRules rules;
  rules.compacted = true;
  TestRecord keyless{.key = std::nullopt};
  for (int codec = 0; codec < kCodecCount; ++codec) {
    BatchOptions options;
    options.compression.codec = static_cast<Codec>(codec);
    EXPECT_TRUE(validate(batch_of({{.key = ""}, {}}, options), rules));
    EXPECT_TRUE(validate(batch_of({keyless}, options)));
    BatchVerdict verdict =
        validate(batch_of({{}, keyless, {}, keyless, keyless, keyless}, options), rules);
    expect_error(verdict, KafkaError::kInvalidRecord);
    ASSERT_EQ(verdict.error().record_errors.size(), 4U);
    EXPECT_EQ(verdict.error().record_errors[0].batch_index, 1);
    EXPECT_EQ(verdict.error().record_errors[3].batch_index, 5);
    EXPECT_FALSE(verdict.error().record_errors[0].message.empty());
    // The first three are in the message.
    EXPECT_NE(verdict.error().message.find("record 4"), std::string::npos);
    EXPECT_EQ(verdict.error().message.find("record 5"), std::string::npos);
  }
}

TEST(Validation, Case34RecordErrorsAreLimited) {
  ValidationRules rules;
  rules.compacted = true;
  std::vector<TestRecord> records(5000, TestRecord{.key = std::nullopt, .value = ""});
  records.back() = TestRecord{.timestamp = kNow + 10'000'000};
  BatchVerdict verdict = validate(batch_of(records), rules);
  // The last record's error is not told, and counts.
  expect_error(verdict, KafkaError::kInvalidTimestamp);
  EXPECT_EQ(verdict.error().record_errors.size(), kMaxRecordErrors);
  EXPECT_NE(verdict.error().message.find("5000 of 5000"), std::string::npos);
}

// §3.3 case 35.
TEST(Validation, Case35TimestampWindow) {
  ValidationRules rules;
  rules.timestamp_before_max_ms = 1000;
  rules.timestamp_after_max_ms = 2000;
  EXPECT_TRUE(validate(batch_of({{kNow - 1000}, {kNow + 2000}}), rules));
  for (TimestampMs bad : {kNow - 1001, kNow + 2001}) {
    BatchVerdict verdict = validate(batch_of({{}, {bad}}), rules);
    expect_error(verdict, KafkaError::kInvalidTimestamp);
    ASSERT_EQ(verdict.error().record_errors.size(), 1U);
    EXPECT_EQ(verdict.error().record_errors[0].batch_index, 1);
    rules.log_append_time = true;
    EXPECT_TRUE(validate(batch_of({{}, {bad}}), rules));
    rules.log_append_time = false;
  }
  // -1 is no timestamp and always allowed.
  EXPECT_TRUE(validate(batch_of({{kNoTimestamp}}), rules));
  // The defaults: as old as can be, one hour ahead.
  EXPECT_TRUE(validate(batch_of({{0}, {kNow + 3'600'000}})));
  expect_error(validate(batch_of({{kNow + 3'600'001}})), KafkaError::kInvalidTimestamp);
  rules.timestamp_after_max_ms = INT64_MAX;
  EXPECT_TRUE(validate(batch_of({{INT64_MAX}}), rules));
}

TEST(Validation, Case35LogAppendTimeBitFromTheClient) {
  BatchOptions options;
  options.log_append_time = kNow;
  ValidationRules rules;
  rules.log_append_time = true;
  BatchVerdict verdict = validate(batch_of({{}, {}}, options), rules);
  expect_error(verdict, KafkaError::kInvalidTimestamp);
  EXPECT_EQ(verdict.error().record_errors.size(), 2U);
  // A topic with CreateTime takes the batch and drops the bit.
  verdict = validate(batch_of({{kNow - 3}, {kNow - 5}}, options));
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->rewritten);
  RecordBatchView batch(verdict->batch.bytes());
  EXPECT_FALSE(batch.is_log_append_time());
  EXPECT_TRUE(batch.crc_matches());
  EXPECT_EQ(batch.max_timestamp(), kNow - 3);
}

// What the state and the object's index say of a batch must hold whatever the topic does with it.
TEST(Validation, MaxTimestampIsRecomputedWithLogAppendTimeToo) {
  std::vector<std::byte> bytes = copy_of(batch_of({{kNow - 50}, {kNow - 20}}));
  store_big_endian(bytes.data() + batch_layout::kMaxTimestamp, std::int64_t{-7});
  ValidationRules rules;
  rules.log_append_time = true;
  BatchVerdict verdict = validate(resealed(bytes), rules);
  ASSERT_TRUE(verdict);
  RecordBatchView batch(verdict->batch.bytes());
  EXPECT_EQ(batch.max_timestamp(), kNow - 20);
  EXPECT_TRUE(batch.crc_matches());
}

// §3.3 case 37.
TEST(Validation, Case37MaxTimestampIsRecomputed) {
  for (int codec = 0; codec < kCodecCount; ++codec) {
    BatchOptions options;
    options.compression.codec = static_cast<Codec>(codec);
    Slice good = batch_of({{kNow - 50}, {kNow - 20}, {kNow - 40}}, options);
    for (TimestampMs wrong : {TimestampMs{-1}, kNow - 50, kNow + 1}) {
      std::vector<std::byte> bytes = copy_of(good);
      store_big_endian(bytes.data() + batch_layout::kMaxTimestamp, wrong);
      BatchVerdict verdict = validate(resealed(bytes));
      ASSERT_TRUE(verdict);
      EXPECT_TRUE(verdict->rewritten);
      EXPECT_EQ(verdict->max_timestamp, kNow - 20);
      // The builder's batch again, byte by byte, with its CRC.
      EXPECT_EQ(as_text(verdict->batch.bytes()), as_text(good.bytes()));
    }
  }
}

// §3.3 case 38.
TEST(Validation, Case38CompressionType) {
  BatchOptions options;
  options.producer_id = 8;
  options.producer_epoch = 1;
  options.base_sequence = 4;
  options.transactional = true;
  std::vector<TestRecord> records{{kNow - 1}, {kNow - 9, std::nullopt}, {kNow - 4}};
  for (int from = 0; from < kCodecCount; ++from) {
    options.compression.codec = static_cast<Codec>(from);
    Slice batch = batch_of(records, options);
    for (int to = 0; to < kCodecCount; ++to) {
      ValidationRules rules;
      rules.compression = Compression{static_cast<Codec>(to), {}};
      BatchVerdict verdict = validate(batch, rules);
      ASSERT_TRUE(verdict);
      EXPECT_EQ(verdict->rewritten, from != to);
      RecordBatchView stored(verdict->batch.bytes());
      EXPECT_EQ(stored.codec_id(), to);
      EXPECT_TRUE(stored.crc_matches());
      EXPECT_EQ(stored.size(), verdict->batch.size());
      BatchHeader before = BatchHeader::of(RecordBatchView(batch.bytes()));
      before.set_codec(static_cast<Codec>(to));
      BatchHeader after = BatchHeader::of(stored);
      EXPECT_EQ(before.attributes, after.attributes);
      EXPECT_EQ(before.producer_id, after.producer_id);
      EXPECT_EQ(before.producer_epoch, after.producer_epoch);
      EXPECT_EQ(before.base_sequence, after.base_sequence);
      EXPECT_EQ(before.last_offset_delta, after.last_offset_delta);
      EXPECT_EQ(before.records_count, after.records_count);
      EXPECT_EQ(before.base_timestamp, after.base_timestamp);
      EXPECT_EQ(before.max_timestamp, after.max_timestamp);
      EXPECT_EQ(records_of(verdict->batch), records_of(batch));
    }
  }
}

TEST(Validation, Case38ZstdNeedsProduce7) {
  BatchOptions options;
  options.compression.codec = Codec::kZstd;
  ValidationRules rules;
  rules.produce_version = 6;
  expect_error(validate(batch_of({{}}, options), rules), KafkaError::kUnsupportedCompressionType);
  rules.produce_version = 7;
  EXPECT_TRUE(validate(batch_of({{}}, options), rules));
}

TEST(Validation, UnknownCodecsAreRefused) {
  for (std::uint16_t codec : {5, 6, 7}) {
    expect_error(validate(with_field(batch_layout::kAttributes, codec)),
                 KafkaError::kInvalidRecord);
  }
}

// §4.4, 4.: offset deltas that are not 0, 1, 2, … are never stored.
TEST(Validation, OffsetsAreRenumbered) {
  for (int codec = 0; codec < kCodecCount; ++codec) {
    for (std::vector<std::int32_t> deltas :
         {std::vector{0, 0, 0}, {2, 1, 0}, {0, 5, 70000}, {-1, 0, 1}}) {
      ByteWriter records;
      for (std::int32_t delta : deltas) {
        RecordView record;
        record.offset_delta = delta;
        record.timestamp_delta = delta == 0 ? 0 : -7;
        record.value = as_bytes("v");
        write_record(records, record);
      }
      ByteWriter bytes;
      bytes.bytes(std::array<std::byte, kBatchHeaderSize>{});
      auto compressor = make_compressor({static_cast<Codec>(codec), {}}, bytes, 10000);
      ASSERT_TRUE(compressor->write(records.view()));
      ASSERT_TRUE(compressor->finish());
      BatchHeader header{.last_offset_delta = 2,
                         .base_timestamp = kNow,
                         .max_timestamp = kNow,
                         .records_count = 3};
      header.set_codec(static_cast<Codec>(codec));
      Slice batch = seal_batch(bytes.release(), header);
      for (std::optional<Compression> target :
           {std::optional<Compression>{}, std::optional(Compression{Codec::kLz4, {}})}) {
        ValidationRules rules;
        rules.compression = target;
        BatchVerdict verdict = validate(batch, rules);
        ASSERT_TRUE(verdict) << verdict.error().message;
        EXPECT_TRUE(verdict->rewritten);
        EXPECT_EQ(RecordBatchView(verdict->batch.bytes()).codec(),
                  target ? target->codec : static_cast<Codec>(codec));
        std::vector<std::string> expected;
        for (std::size_t i = 0; i < 3; ++i) {
          expected.push_back(fmt::format("{} {} null 76", i, kNow - (deltas[i] == 0 ? 0 : 7)));
        }
        EXPECT_EQ(records_of(verdict->batch), expected);
        // A second look finds nothing to change.
        BatchVerdict again = validate(verdict->batch, rules);
        ASSERT_TRUE(again);
        EXPECT_FALSE(again->rewritten);
      }
    }
  }
}

// Java's consumer refuses LZ4 blocks that depend on earlier ones: such a batch is stored with
// independent blocks.
TEST(Validation, DependentLz4BlocksAreRewritten) {
  ByteWriter records;
  RecordView record;
  std::string value(200000, 'x');
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>('a' + i % 23 + i % 2);
  record.value = as_bytes(value);
  write_record(records, record);
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockMode = LZ4F_blockLinked;
  std::vector<std::byte> bytes(kBatchHeaderSize +
                               LZ4F_compressFrameBound(records.size(), &preferences));
  std::size_t size = LZ4F_compressFrame(bytes.data() + kBatchHeaderSize, bytes.size(),
                                        records.view().data(), records.size(), &preferences);
  bytes.resize(kBatchHeaderSize + size);
  ASSERT_FALSE(has_independent_blocks(Bytes(bytes).subspan(kBatchHeaderSize)));
  BatchHeader header{
      .last_offset_delta = 0, .base_timestamp = kNow, .max_timestamp = kNow, .records_count = 1};
  header.set_codec(Codec::kLz4);
  Slice batch = seal_batch(std::move(bytes), header);
  BatchVerdict verdict = validate(batch);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->rewritten);
  EXPECT_TRUE(has_independent_blocks(RecordBatchView(verdict->batch.bytes()).records()));
  EXPECT_EQ(records_of(verdict->batch), records_of(batch));
}

// Offsets are set anew with all records in memory: no more of them than a broker can spare.
TEST(Validation, BombsThatMustBeRenumberedAreRefusedEarlier) {
  ByteWriter records;
  const std::string zeros(1'500'000, '\0');
  for (int i = 0; i < 2; ++i) {
    RecordView record;
    record.value = as_bytes(zeros);
    write_record(records, record);  // both with offset 0
  }
  ByteWriter bytes;
  bytes.bytes(std::array<std::byte, kBatchHeaderSize>{});
  auto compressor = make_compressor({Codec::kZstd, {}}, bytes, 100'000);
  ASSERT_TRUE(compressor->write(records.view()));
  ASSERT_TRUE(compressor->finish());
  BatchHeader header{.last_offset_delta = 1, .base_timestamp = kNow, .records_count = 2};
  header.set_codec(Codec::kZstd);
  Slice bomb = seal_batch(bytes.release(), header);
  BatchVerdict verdict = validate(bomb);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_EQ(verdict->record_count, 2);
  ValidationRules rules;
  rules.max_renumbered_batch_bytes = 2'000'000;
  expect_error(validate(bomb, rules), KafkaError::kMessageTooLarge);
}

TEST(Validation, DecompressionBombsAreRefused) {
  for (Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    BatchOptions options;
    options.compression.codec = codec;
    Slice bomb = batch_of({{.value = std::string(3'000'000, '\0')}}, options);
    ASSERT_LT(bomb.size(), 200'000U);
    EXPECT_TRUE(validate(bomb));
    ValidationRules rules;
    rules.max_decompressed_batch_bytes = 2'000'000;
    expect_error(validate(bomb, rules), KafkaError::kMessageTooLarge);
    rules = {};
    rules.max_decompressed_record_bytes = 2'999'000;
    expect_error(validate(bomb, rules), KafkaError::kInvalidRecord);
  }
}

}  // namespace
}  // namespace weir::kafka

// The validation of batches against what Apache Kafka 4.4 does with the same bytes
// (tests/vectors/records/validation.txt).
#include "kafka/records/patching.h"
#include "kafka/records/record_test_support.h"
#include "kafka/records/validation.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace weir::kafka {
namespace {

constexpr TimestampMs kNow = 1'700'000'000'000;

// Where Weir answers something else on purpose. 0: it takes the batch, changed where Kafka stores
// it as it is.
const std::map<std::string, std::int16_t, std::less<>> kDeviations = {
    // Kafka does not foresee these and answers UNKNOWN_SERVER_ERROR.
    {"codec/unknown_5", 87},
    {"codec/unknown_6", 87},
    {"codec/unknown_7", 87},
    {"codec/garbage_gzip", 87},
    {"codec/garbage_snappy", 87},
    {"codec/garbage_lz4", 87},
    {"codec/garbage_zstd", 87},
    {"codec/empty_gzip", 87},
    {"codec/empty_snappy", 87},
    {"codec/empty_lz4", 87},
    {"codec/truncated_gzip", 87},
    {"codec/truncated_snappy", 87},
    {"codec/truncated_lz4", 87},
    {"codec/truncated_zstd", 87},
    {"codec/trailing_zstd", 87},
    // Some client fails on these, so one such batch would block a partition's consumers.
    {"codec/trailing_gzip", 87},
    {"codec/trailing_snappy", 87},
    {"codec/trailing_lz4", 87},
    {"codec/two_frames_snappy", 87},
    // Kafka drops the bits beyond the 32nd.
    {"record/varint_fifth_byte_7f_none", 87},
    {"record/varint_fifth_byte_7f_zstd", 87},
    // Lengths below -1: Kafka reads null.
    {"record/key_length_minus_2_none", 87},
    {"record/key_length_minus_2_zstd", 87},
    {"record/value_length_minus_2_none", 87},
    {"record/value_length_minus_2_zstd", 87},
    {"record/header_value_minus_2_none", 87},
    {"record/header_value_minus_2_zstd", 87},
    // In compressed batches Kafka does not compare a record's length with its fields; its own
    // consumer does.
    {"record/length_too_short_zstd", 87},
    {"record/length_one_short_zstd", 87},
    {"record/length_one_long_zstd", 87},
    {"record/length_zero_zstd", 87},
    // Offsets are renumbered; Kafka stores uncompressed ones as they are and fails on compressed
    // ones.
    {"offsets/permuted_none", 0},
    {"offsets/gap_none", 0},
    {"offsets/all_zero_none", 0},
    {"offsets/permuted_gzip", 0},
    {"offsets/gap_gzip", 0},
    {"offsets/all_zero_gzip", 0},
    {"offsets/permuted_snappy", 0},
    {"offsets/gap_snappy", 0},
    {"offsets/all_zero_snappy", 0},
    {"offsets/permuted_lz4", 0},
    {"offsets/gap_lz4", 0},
    {"offsets/all_zero_lz4", 0},
    {"offsets/permuted_zstd", 0},
    {"offsets/gap_zstd", 0},
    {"offsets/all_zero_zstd", 0},
    {"recompress/offsets_zstd_to_zstd", 0},
    {"record/offset_delta_negative_none", 0},
    {"record/offset_delta_negative_zstd", 0},
    // The records' own timestamps count once the bit is dropped, not the header's greatest.
    {"timestamp/lat_bit_late_max", 0},
    {"timestamp/lat_bit_wrong_max", 0},
};

std::optional<Compression> compression_type(std::string_view name) {
  if (name == "uncompressed") return Compression{};
  for (Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    if (to_string(codec) == name) return Compression{codec, {}};
  }
  ADD_FAILURE() << name;
  return std::nullopt;
}

ValidationRules rules_of(const VectorCase& test) {
  ValidationRules rules;
  rules.produce_version = static_cast<std::int16_t>(std::stoi(*test.find("version")));
  for (const std::string& config : test.all("config")) {
    std::string key = config.substr(0, config.find('='));
    std::string value = config.substr(config.find('=') + 1);
    if (key == "cleanup.policy") {
      rules.compacted = value.starts_with("compact");
    } else if (key == "max.message.bytes") {
      rules.max_message_bytes = std::stoul(value);
    } else if (key == "message.timestamp.type") {
      rules.log_append_time = value == "LogAppendTime";
    } else if (key == "message.timestamp.before.max.ms") {
      rules.timestamp_before_max_ms = std::stoll(value);
    } else if (key == "message.timestamp.after.max.ms") {
      rules.timestamp_after_max_ms = std::stoll(value);
    } else if (key == "max.decompressed.message.bytes") {
      rules.max_decompressed_record_bytes = std::stoi(value);
    } else if (key == "compression.type") {
      rules.compression = compression_type(value);
    } else {
      ADD_FAILURE() << "unknown config " << key;
    }
  }
  return rules;
}

void expect_rejection(const VectorCase& test, const BatchRejection& rejection, std::int16_t code) {
  EXPECT_EQ(static_cast<std::int16_t>(rejection.error), code) << rejection.message;
  std::string indexes;
  for (const RecordError& error : rejection.record_errors) {
    indexes += fmt::format("{}{}", indexes.empty() ? "" : " ", error.batch_index);
  }
  EXPECT_EQ(indexes, test.find("record_errors").value_or(""));
}

// What a consumer of the batch would get, against what Kafka's consumer got.
void expect_stored(const VectorCase& test, const Slice& input, const AcceptedBatch& accepted,
                   bool log_append_time) {
  BatchAssignment assignment{.base_offset = 0, .leader_epoch = 0, .log_append_time = {}};
  if (log_append_time) assignment.log_append_time = kNow;
  Chain chain;
  append_patched(chain, accepted.batch, assignment);
  Slice batch = chain.flatten();
  EXPECT_TRUE(RecordBatchView(batch.bytes()).crc_matches());
  EXPECT_EQ(records_of(batch), test.all("record"));
  Slice expected = input.sub(0, batch.size() < input.size() ? batch.size() : input.size());
  if (*test.find("stored") != "same") expected = from_hex(*test.find("stored"));
  RecordBatchView theirs(expected.bytes());
  RecordBatchView ours(batch.bytes());
  if (!log_append_time)
    EXPECT_EQ(fmt::format("{}", accepted.max_timestamp), test.find("max_timestamp"));
  EXPECT_EQ(ours.codec_id(), theirs.codec_id());
  if (ours.codec() == RecordBatchView(input.bytes()).codec()) {
    // Not compressed anew: the same bytes but for the leader epoch, with the same CRC.
    std::vector<std::byte> copy(expected.bytes().begin(), expected.bytes().end());
    store_big_endian(copy.data() + batch_layout::kLeaderEpoch, 0);
    EXPECT_EQ(to_hex(batch.bytes()), to_hex(copy));
    return;
  }
  EXPECT_EQ(ours.attributes(), theirs.attributes());
  EXPECT_EQ(ours.max_timestamp(), theirs.max_timestamp());
  EXPECT_EQ(ours.producer_id(), theirs.producer_id());
  EXPECT_EQ(ours.producer_epoch(), theirs.producer_epoch());
  EXPECT_EQ(ours.base_sequence(), theirs.base_sequence());
  EXPECT_EQ(ours.last_offset_delta(), theirs.last_offset_delta());
}

void expect_dense(const AcceptedBatch& accepted) {
  std::vector<std::string> records = records_of(accepted.batch);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_TRUE(records[i].starts_with(fmt::format("{} ", i))) << records[i];
  }
}

TEST(KafkaVectors, BatchesGetKafkasVerdict) {
  std::set<std::string> seen;
  for (const VectorCase& test : read_vectors("validation.txt")) {
    SCOPED_TRACE(test.name());
    seen.insert(test.name());
    Slice input = from_hex(*test.find("input"));
    ValidationRules rules = rules_of(test);
    BatchVerdict verdict = validate_batch(input, rules, kNow);
    std::optional<std::string> error = test.find("error");
    if (auto deviation = kDeviations.find(test.name()); deviation != kDeviations.end()) {
      EXPECT_NE(error, fmt::format("{}", deviation->second)) << "no deviation any more";
      ASSERT_EQ(verdict.has_value(), deviation->second == 0);
      if (verdict) expect_dense(*verdict);
      if (!verdict) EXPECT_EQ(static_cast<std::int16_t>(verdict.error().error), deviation->second);
      continue;
    }
    if (error) {
      ASSERT_FALSE(verdict) << "Kafka says " << *error;
      expect_rejection(test, verdict.error(), static_cast<std::int16_t>(std::stoi(*error)));
      continue;
    }
    ASSERT_TRUE(verdict) << verdict.error().message;
    expect_stored(test, input, *verdict, rules.log_append_time);
  }
  EXPECT_GT(seen.size(), 300U);
  for (const auto& [name, code] : kDeviations) EXPECT_TRUE(seen.contains(name)) << name;
}

}  // namespace
}  // namespace weir::kafka

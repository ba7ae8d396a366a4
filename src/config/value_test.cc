// What is accepted and refused is what Apache Kafka 4.4 answers to IncrementalAlterConfigs with the
// same values, except where a comment says otherwise.
#include "config/value.h"

#include <gtest/gtest.h>

namespace weir::config {
namespace {

const ConfigKey& topic_key(std::string_view name) {
  const ConfigKey* key = find_key(Scope::kTopic, name);
  EXPECT_NE(key, nullptr) << name;
  return *key;
}

// The canonical text, or "refused".
std::string topic(std::string_view name, std::string_view text) {
  const auto value = parse_value(topic_key(name), text);
  return value ? to_text(*value) : "refused";
}

std::string group(std::string_view name, std::string_view text) {
  const auto value = parse_value(*find_key(Scope::kGroup, name), text);
  return value ? to_text(*value) : "refused";
}

TEST(ParseValue, Numbers) {
  EXPECT_EQ(topic("retention.ms", " 5 "), "5");
  EXPECT_EQ(topic("retention.ms", "+5"), "5");
  EXPECT_EQ(topic("retention.ms", "-1"), "-1");
  EXPECT_EQ(topic("retention.ms", "9223372036854775807"), "9223372036854775807");
  for (std::string_view bad :
       {"-2", "5.0", "0x10", "", "+-5", "5 5", "99999999999999999999", "5L"}) {
    EXPECT_EQ(topic("retention.ms", bad), "refused") << bad;
  }
  EXPECT_EQ(topic("max.message.bytes", "2147483647"), "2147483647");
  EXPECT_EQ(topic("max.message.bytes", "0"), "0");
  EXPECT_EQ(topic("max.message.bytes", "-1"), "refused");
  EXPECT_EQ(topic("max.message.bytes", "2147483648"), "refused");
  EXPECT_EQ(topic("segment.bytes", "1048575"), "refused");
  EXPECT_EQ(topic("segment.bytes", "1048576"), "1048576");
  EXPECT_EQ(topic("retention.bytes", "-2"), "-2");
  EXPECT_EQ(topic("local.retention.ms", "-3"), "refused");
  EXPECT_EQ(topic("min.insync.replicas", "0"), "refused");
  EXPECT_EQ(topic("segment.ms", "0"), "refused");
}

TEST(ParseValue, NumbersOfSixteenBits) {
  const ConfigKey& key = *find_key(Scope::kBroker, "offsets.topic.replication.factor");
  ASSERT_EQ(key.type, ValueType::kShort);
  EXPECT_TRUE(parse_value(key, "32767"));
  EXPECT_FALSE(parse_value(key, "32768"));
  EXPECT_FALSE(parse_value(key, "0"));
}

TEST(ParseValue, CompressionLevels) {
  EXPECT_EQ(topic("compression.gzip.level", "-1"), "-1");
  EXPECT_EQ(topic("compression.gzip.level", "1"), "1");
  EXPECT_EQ(topic("compression.gzip.level", "9"), "9");
  EXPECT_EQ(topic("compression.gzip.level", "0"), "refused");
  EXPECT_EQ(topic("compression.gzip.level", "10"), "refused");
  EXPECT_EQ(topic("compression.gzip.level", "-2"), "refused");
  EXPECT_EQ(topic("compression.zstd.level", "22"), "22");
  EXPECT_EQ(topic("compression.zstd.level", "-131072"), "-131072");
  EXPECT_EQ(topic("compression.zstd.level", "23"), "refused");
  EXPECT_EQ(topic("compression.lz4.level", "18"), "refused");
}

TEST(ParseValue, Doubles) {
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "0.25"), "0.25");
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "1"), "1.0");
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "5e-4"), "5.0E-4");
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "1.5"), "refused");
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "-0.1"), "refused");
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "x"), "refused");
  // Kafka takes NaN for a ratio; it is none.
  EXPECT_EQ(topic("min.cleanable.dirty.ratio", "NaN"), "refused");
}

TEST(ToText, DoublesAsJavaWritesThem) {
  EXPECT_EQ(to_text(1.7976931348623157e308), "1.7976931348623157E308");
  EXPECT_EQ(to_text(0.001), "0.001");
  EXPECT_EQ(to_text(0.0009), "9.0E-4");
  EXPECT_EQ(to_text(9999999.0), "9999999.0");
  EXPECT_EQ(to_text(10000000.0), "1.0E7");
  EXPECT_EQ(to_text(0.0), "0.0");
}

TEST(ParseValue, Booleans) {
  EXPECT_EQ(topic("preallocate", "TRUE"), "true");
  EXPECT_EQ(topic("preallocate", " true "), "true");
  EXPECT_EQ(topic("preallocate", "false"), "false");
  for (std::string_view bad : {"yes", "1", "", "truee"}) {
    EXPECT_EQ(topic("preallocate", bad), "refused") << bad;
  }
}

TEST(ParseValue, Choices) {
  EXPECT_EQ(topic("compression.type", "zstd"), "zstd");
  EXPECT_EQ(topic("compression.type", " gzip "), "gzip");
  for (std::string_view bad : {"lzma", "GZIP", ""}) {
    EXPECT_EQ(topic("compression.type", bad), "refused") << bad;
  }
  EXPECT_EQ(topic("message.timestamp.type", "createtime"), "refused");
  const ConfigKey& ignoring_case = *find_key(Scope::kBroker, "group.consumer.migration.policy");
  EXPECT_TRUE(parse_value(ignoring_case, "Upgrade"));
  EXPECT_FALSE(parse_value(ignoring_case, "sidegrade"));
}

TEST(ParseValue, Lists) {
  EXPECT_EQ(topic("cleanup.policy", " compact , delete "), "compact,delete");
  EXPECT_EQ(topic("cleanup.policy", ""), "");
  EXPECT_EQ(topic("cleanup.policy", "foo"), "refused");
  EXPECT_EQ(topic("cleanup.policy", "compact,foo"), "refused");
  EXPECT_EQ(topic("cleanup.policy", "compact,"), "refused");
}

TEST(ParseValue, ThrottledReplicas) {
  constexpr std::string_view kKey = "leader.replication.throttled.replicas";
  EXPECT_EQ(topic(kKey, "*"), "*");
  EXPECT_EQ(topic(kKey, "0:1,1:2"), "0:1,1:2");
  EXPECT_EQ(topic(kKey, ""), "");
  for (std::string_view bad : {"0", "0:", ":1", "0:x", "*,0:1", "0:1:2"}) {
    EXPECT_EQ(topic(kKey, bad), "refused") << bad;
  }
}

TEST(ParseValue, OffsetReset) {
  constexpr std::string_view kKey = "share.auto.offset.reset";
  for (std::string_view good :
       {"earliest", "latest", "by_duration:PT1H", "by_duration:P2DT3H4M5.25S", "by_duration:P1D",
        "by_duration:PT0.5S"}) {
    EXPECT_EQ(group(kKey, good), good);
  }
  for (std::string_view bad :
       {"none", "by_duration:x", "by_duration:-PT1H", "by_duration:", "by_duration:P",
        "by_duration:PT", "by_duration:P1DT", "by_duration:PT1M1H", "by_duration:PT1",
        "by_duration:P1H", "by_duration:PT1.5M", "by_duration:PT1S1S"}) {
    EXPECT_EQ(group(kKey, bad), "refused") << bad;
  }
}

TEST(ParseValue, ErrorNamesKeyValueAndWhatIsValid) {
  const auto bad = parse_value(topic_key("compression.lz4.level"), "18");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(bad.error().message,
            "Invalid value 18 for configuration compression.lz4.level: must be a whole number from "
            "-2147483648 to 2147483647; valid: [1,...,17]");
}

TEST(ParseValue, PasswordsAreTextAndNotShown) {
  const ConfigKey& key = *find_key(Scope::kBroker, "ssl.key.password");
  EXPECT_TRUE(key.sensitive());
  EXPECT_TRUE(parse_value(key, "hunter2"));
}

TEST(ShownText, HidesPasswords) {
  const ConfigKey& url = *find_key(Scope::kBroker, "metadata.log.url");
  EXPECT_EQ(shown_text(url, "postgres://me:p@ss@db:5432/weir?sslmode=require"),
            "postgres://me:****@db:5432/weir?sslmode=require");
  EXPECT_EQ(shown_text(url, "postgres://db/weir?user=me&password=p&password=q"),
            "postgres://db/weir?user=me&password=****&password=****");
  for (std::string_view open :
       {"postgres://me@db:5432/weir", "sqlite:data/x:y@z", "postgres://db:5432"}) {
    EXPECT_EQ(shown_text(url, open), open);
  }
  EXPECT_EQ(shown_text(*find_key(Scope::kBroker, "ssl.key.password"), "hunter2"), std::nullopt);
}

TEST(CanonicalText, LeavesWhatIsNotWellFormed) {
  EXPECT_EQ(canonical_text(topic_key("retention.ms"), " +7 "), "7");
  EXPECT_EQ(canonical_text(topic_key("retention.ms"), "seven"), "seven");
}

}  // namespace
}  // namespace weir::config

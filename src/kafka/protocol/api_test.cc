#include "kafka/protocol/api.h"

#include "kafka/protocol/errors.h"
#include "kafka/protocol/json_writer.h"
#include "kafka/protocol/messages/alter_user_scram_credentials.h"
#include "kafka/protocol/messages/sasl_authenticate.h"

#include <gtest/gtest.h>

namespace weir::kafka {
namespace {

TEST(Api, TableIsFoundByKey) {
  std::int16_t last = -1;
  for (const ApiInfo& api : all_apis()) {
    EXPECT_GT(static_cast<std::int16_t>(api.key), last);
    last = static_cast<std::int16_t>(api.key);
    EXPECT_EQ(find_api(api.key), &api);
    if (api.served) {
      EXPECT_TRUE(api.versions.has(api.served->min) && api.versions.has(api.served->max));
      if (api.advertised_from) EXPECT_LE(*api.advertised_from, api.served->min);
    }
  }
  EXPECT_EQ(find_api(4), nullptr);  // LeaderAndIsr
  EXPECT_EQ(find_api(-1), nullptr);
  EXPECT_EQ(find_api(1000), nullptr);
  EXPECT_EQ(to_string(ApiKey::kOffsetForLeaderEpoch), "OffsetForLeaderEpoch");
  EXPECT_EQ(to_string(static_cast<ApiKey>(4)), "?");
}

TEST(Api, VersionsOfHeaders) {
  auto headers = [](ApiKey key, std::int16_t version) {
    const ApiInfo* api = find_api(key);
    return std::pair(api->request_header_version(version), api->response_header_version(version));
  };
  using Pair = std::pair<std::int16_t, std::int16_t>;
  EXPECT_EQ(headers(ApiKey::kProduce, 8), Pair(1, 0));
  EXPECT_EQ(headers(ApiKey::kProduce, 9), Pair(2, 1));
  EXPECT_EQ(headers(ApiKey::kApiVersions, 2), Pair(1, 0));
  EXPECT_EQ(headers(ApiKey::kApiVersions, 3), Pair(2, 0));
  EXPECT_EQ(headers(ApiKey::kSaslHandshake, 1), Pair(1, 0));
  EXPECT_EQ(headers(ApiKey::kOffsetDelete, 0), Pair(1, 0));
  EXPECT_EQ(headers(ApiKey::kListPartitionReassignments, 0), Pair(2, 1));
}

TEST(Api, ProduceIsAdvertisedFromZero) {
  const ApiInfo* api = find_api(ApiKey::kProduce);
  EXPECT_EQ(api->advertised_from, 0);
  EXPECT_EQ(api->served->min, 3);
  EXPECT_EQ(api->served->max, 13);
}

// Numbers and marks from the protocol's public table of errors.
TEST(KafkaError, NumbersNamesAndRetriability) {
  struct {
    KafkaError error;
    int number;
    std::string_view name;
    bool retriable;
  } rows[] = {
      {KafkaError::kUnknownServerError, -1, "UNKNOWN_SERVER_ERROR", false},
      {KafkaError::kNone, 0, "NONE", false},
      {KafkaError::kCorruptMessage, 2, "CORRUPT_MESSAGE", true},
      {KafkaError::kUnknownTopicOrPartition, 3, "UNKNOWN_TOPIC_OR_PARTITION", true},
      {KafkaError::kMessageTooLarge, 10, "MESSAGE_TOO_LARGE", false},
      {KafkaError::kUnsupportedVersion, 35, "UNSUPPORTED_VERSION", false},
      {KafkaError::kOutOfOrderSequenceNumber, 45, "OUT_OF_ORDER_SEQUENCE_NUMBER", false},
      {KafkaError::kKafkaStorageError, 56, "KAFKA_STORAGE_ERROR", true},
      {KafkaError::kMemberIdRequired, 79, "MEMBER_ID_REQUIRED", false},
      {KafkaError::kInvalidRecord, 87, "INVALID_RECORD", false},
      {KafkaError::kUnknownTopicId, 100, "UNKNOWN_TOPIC_ID", true},
      {KafkaError::kRebootstrapRequired, 129, "REBOOTSTRAP_REQUIRED", false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(code(row.error), row.number);
    EXPECT_EQ(to_string(row.error), row.name);
    EXPECT_EQ(is_retriable(row.error), row.retriable) << row.name;
    EXPECT_EQ(find_kafka_error(static_cast<std::int16_t>(row.number)), row.error);
  }
  EXPECT_EQ(find_kafka_error(-2), std::nullopt);
  EXPECT_EQ(find_kafka_error(137), std::nullopt);
  EXPECT_EQ(to_string(static_cast<KafkaError>(-300)), "UNKNOWN_SERVER_ERROR");
  EXPECT_EQ(to_string(static_cast<KafkaError>(300)), "UNKNOWN_SERVER_ERROR");
}

TEST(JsonWriter, TextIsEscapedAndMadeValid) {
  auto text = [](std::string_view value) {
    JsonWriter out;
    out.string(value);
    return out.release();
  };
  EXPECT_EQ(text("a\"b\\c\n\x01"), R"("a\"b\\c\u000a\u0001")");
  EXPECT_EQ(text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
  EXPECT_EQ(text("\xff|\xc3|\xed\xa0\x80|\xc0\xaf"),
            R"("\ufffd|\ufffd|\ufffd\ufffd\ufffd|\ufffd\ufffd")");
}

TEST(JsonWriter, PlacesCommas) {
  JsonWriter out;
  out.begin_object();
  out.key("a");
  out.begin_array();
  out.number(1);
  out.begin_object();
  out.end_object();
  out.null();
  out.end_array();
  out.key("b");
  out.real(0.5);
  out.end_object();
  EXPECT_EQ(out.release(), R"({"a":[1,{},null],"b":0.5})");
}

TEST(Secrets, AreNotInTheJsonOfMessages) {
  SaslAuthenticateRequest sasl;
  sasl.auth_bytes = as_bytes("hunter2");
  EXPECT_EQ(to_json(sasl, 2), R"({"auth_bytes":"****"})");
  AlterUserScramCredentialsRequest scram;
  scram.upsertions.push_back(
      {.name = "u", .salt = as_bytes("salt"), .salted_password = as_bytes("hash")});
  EXPECT_EQ(to_json(scram, 0),
            R"({"deletions":[],"upsertions":[{"name":"u","mechanism":0,"iterations":0,)"
            R"("salt":"****","salted_password":"****"}]})");
}

}  // namespace
}  // namespace weir::kafka

// Our codec against bytes of other programs (tests/vectors/kafka/README.md).
#include "kafka/protocol/frame.h"
#include "kafka/protocol/message_check.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <map>

namespace weir::kafka {
namespace {

using Row = std::vector<std::string>;

std::vector<Row> read_rows(const std::string& name) {
  std::ifstream file(WEIR_TEST_VECTORS "/kafka/" + name);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    Row row;
    for (std::size_t at = 0; at <= line.size();) {
      std::size_t end = std::min(line.find('\t', at), line.size());
      row.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    rows.push_back(row);
  }
  return rows;
}

Slice from_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    bytes.push_back(static_cast<std::byte>(value));
  }
  return Slice::of(std::move(bytes));
}

std::string to_hex(const Slice& slice) {
  JsonWriter out;
  out.bytes(slice);
  std::string quoted = out.release();
  return quoted.substr(1, quoted.size() - 2);
}

std::int16_t number(const std::string& text) { return static_cast<std::int16_t>(std::stoi(text)); }

const MessageCheck& find_check(std::string_view name) {
  static const auto* by_name = [] {
    auto* map = new std::map<std::string_view, MessageCheck>;
    for (const MessageCheck& check : message_checks()) map->emplace(check.name, check);
    return map;
  }();
  return by_name->at(name);
}

// The Java library does not know what Weir's brokers say to each other.
bool is_of_kafka(const MessageCheck& check) {
  return std::ranges::none_of(all_apis(), [&](const ApiInfo& api) {
    return !api.advertised_from && check.name.starts_with(api.name);
  });
}

TEST(Vectors, MessagesOfTheJavaLibrary) {
  std::vector<Row> rows = read_rows("messages-4.4.0.tsv");
  std::size_t versions = 0;
  for (const MessageCheck& check : message_checks()) {
    if (is_of_kafka(check))
      versions += static_cast<std::size_t>(check.max_version - check.min_version + 1);
  }
  ASSERT_EQ(rows.size(), versions);  // every message and version that we have
  for (const Row& row : rows) {
    SCOPED_TRACE(row[0] + " v" + row[1]);
    Slice theirs = from_hex(row[2]);
    Result<CheckedMessage> ours = find_check(row[0]).recode(theirs, number(row[1]));
    ASSERT_TRUE(ours) << ours.error().message;
    EXPECT_EQ(to_hex(ours->bytes), row[2]);
    EXPECT_EQ(boost::json::parse(ours->json), boost::json::parse(row[3])) << ours->json;
  }
}

// Frames keep their bytes when header and body are decoded and encoded again.
void expect_same_frames(const Row& row) {
  SCOPED_TRACE(row[0] + " v" + row[1]);
  std::int16_t version = number(row[1]);
  Slice request = from_hex(row[2]);
  Slice response = from_hex(row[3]);
  Result<RequestFrame> parsed = parse_request(request);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->header.api_key, static_cast<ApiKey>(number(row[0])));
  EXPECT_EQ(parsed->header.version, version);
  ASSERT_TRUE(parsed->header.client_id);
  std::string name(parsed->api->name);
  Result<CheckedMessage> body = find_check(name + " request").recode(parsed->body, version);
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(to_hex(body->bytes), to_hex(parsed->body));

  Result<Slice> answer =
      parse_response(response, parsed->header.api_key, version, parsed->header.correlation_id);
  ASSERT_TRUE(answer) << answer.error().message;
  Result<CheckedMessage> answered = find_check(name + " response").recode(*answer, version);
  ASSERT_TRUE(answered) << answered.error().message;
  EXPECT_EQ(to_hex(answered->bytes), to_hex(*answer));
}

TEST(Vectors, FramesOfLibrdkafka) {
  std::vector<Row> rows = read_rows("frames-librdkafka-2.0.2.tsv");
  ASSERT_EQ(rows.size(), 13U);
  for (const Row& row : rows) expect_same_frames(row);
}

TEST(Vectors, FramesOfTheJavaClient) {
  std::vector<Row> rows = read_rows("frames-java-4.4.0.tsv");
  ASSERT_EQ(rows.size(), 26U);
  for (const Row& row : rows) expect_same_frames(row);
}

}  // namespace
}  // namespace weir::kafka

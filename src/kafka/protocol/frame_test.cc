#include "kafka/protocol/frame.h"

#include "kafka/protocol/messages/api_versions.h"
#include "kafka/protocol/messages/fetch.h"
#include "kafka/protocol/messages/heartbeat.h"
#include "kafka/protocol/messages/offset_delete.h"
#include "kafka/protocol/messages/produce.h"

#include <gtest/gtest.h>

namespace weir::kafka {
namespace {

using namespace std::string_view_literals;

std::string text_of(const Result<Chain>& chain) {
  EXPECT_TRUE(chain) << chain.error().message;
  return chain ? std::string(as_text(chain->flatten().bytes())) : std::string();
}

// Bytes worked out by hand from the public description of the protocol.
TEST(Frame, HeaderOneHasNoTags) {
  Slice frame = Slice::copy_of("\x00\x0c\x00\x03\x00\x00\x00\x07\x00\x02me\x00\x01g"sv);
  Result<RequestFrame> parsed = parse_request(frame);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->header.api_key, ApiKey::kHeartbeat);
  EXPECT_EQ(parsed->header.version, 3);
  EXPECT_EQ(parsed->header.correlation_id, 7);
  EXPECT_EQ(parsed->header.client_id, "me");
  EXPECT_EQ(parsed->api->name, "Heartbeat");
  EXPECT_EQ(as_text(parsed->body.bytes()), "\0\1g"sv);
  EXPECT_EQ(parsed->body.data(), frame.data() + 12);  // not a copy
}

TEST(Frame, HeaderTwoHasTagsButNoCompactClientId) {
  // One unknown tagged field, 5, of three bytes.
  auto parsed = parse_request(
      Slice::copy_of("\x00\x0c\x00\x04\x00\x00\x00\x07\xff\xff\x01\x05\x03xyz\x02g"sv));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->header.client_id, std::nullopt);
  EXPECT_EQ(as_text(parsed->body.bytes()), "\x02g");
}

TEST(Frame, ClientIdsAreMadeUtf8) {
  auto parsed =
      parse_request(Slice::copy_of("\x00\x0c\x00\x03\x00\x00\x00\x07\x00\x02m\xff\x00\x01g"sv));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const RequestHeader header = parsed->header;
  parsed = std::unexpected(Error{});
  EXPECT_EQ(header.client_id, "m\xEF\xBF\xBD");
}

TEST(Frame, HeaderErrorsNameTheMistake) {
  auto error = [](std::string_view bytes) {
    Result<RequestFrame> parsed = parse_request(Slice::copy_of(bytes));
    EXPECT_FALSE(parsed);
    return parsed ? "" : parsed.error().message;
  };
  EXPECT_EQ(error(""), "a request of 0 bytes is too short for its header");
  EXPECT_EQ(error("\x00\x0c\x00\x03\x00\x00\x00"sv),
            "a request of 7 bytes is too short for its header");
  EXPECT_EQ(error("\x00\x04\x00\x03\x00\x00\x00\x07\xff\xff"sv),
            "api key 4 is not one that clients use");
  EXPECT_EQ(error("\x7f\xff\x00\x03\x00\x00\x00\x07\xff\xff"sv),
            "api key 32767 is not one that clients use");
  EXPECT_EQ(error("\x00\x0c\x00\x03\x00\x00\x00\x07\x00\x05me"sv),
            "request header v1: at byte 10 of 12: a string is longer than the bytes left");
  EXPECT_EQ(error("\x00\x0c\x00\x03\x00\x00\x00\x07\xff\xfe"sv),
            "request header v1: at byte 10 of 10: a length below -1");
  EXPECT_EQ(error("\x00\x0c\x00\x04\x00\x00\x00\x07\xff\xff\x01\x05\x03xy"sv),
            "request header v2: at byte 13 of 15: a tagged field is longer than the bytes left");
}

TEST(Frame, UnknownVersionStillHasAHeader) {
  // A client from the future asks for ApiVersions 99; it gets an answer in version 0.
  auto parsed =
      parse_request(Slice::copy_of("\x00\x12\x00\x63\x00\x00\x00\x01\x00\x01x\x00?????"sv));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->header.version, 99);
  EXPECT_FALSE(decode<ApiVersionsRequest>(parsed->body, parsed->header.version));
}

TEST(Frame, ResponseHeaders) {
  HeartbeatResponse heartbeat;
  heartbeat.error_code = KafkaError::kRebalanceInProgress;
  EXPECT_EQ(text_of(response_frame(9, heartbeat, 3)),
            "\x00\x00\x00\x0a\x00\x00\x00\x09\x00\x00\x00\x00\x00\x1b"sv);
  EXPECT_EQ(text_of(response_frame(9, heartbeat, 4)),
            "\x00\x00\x00\x0c\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x1b\x00"sv);
  // ApiVersions keeps header 0 in flexible versions.
  ApiVersionsResponse versions;
  versions.api_keys.push_back({.api_key = 18, .min_version = 0, .max_version = 5});
  EXPECT_EQ(text_of(response_frame(9, versions, 3)),
            "\x00\x00\x00\x13\x00\x00\x00\x09\x00\x00\x02\x00\x12\x00\x00\x00\x05\x00"
            "\x00\x00\x00\x00\x00"sv);
  // OffsetDelete is never flexible.
  EXPECT_EQ(text_of(response_frame(9, OffsetDeleteResponse{}, 0)),
            "\x00\x00\x00\x0e\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"sv);
}

TEST(Frame, RequestAndResponseGoThereAndBack) {
  for (const ApiInfo& api : all_apis()) {
    if (api.key != ApiKey::kProduce && api.key != ApiKey::kApiVersions) continue;
    EXPECT_EQ(api.request_header_version(api.flexible_from), 2);
    EXPECT_EQ(api.request_header_version(static_cast<std::int16_t>(api.flexible_from - 1)), 1);
  }
  for (std::int16_t version : {8, 9}) {
    ProduceRequest request;
    request.acks = -1;
    request.timeout_ms = 30000;
    request.topic_data.push_back(
        {.name = "t", .partition_data = {{.index = 3, .records = Slice::copy_of("abc")}}});
    Result<Chain> frame = request_frame(7, "me", request, version);
    ASSERT_TRUE(frame);
    Slice whole = frame->flatten();
    Result<RequestFrame> parsed = parse_request(whole.sub(4));
    ASSERT_TRUE(parsed) << parsed.error().message;
    Result<ProduceRequest> again = decode<ProduceRequest>(parsed->body, version);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(to_json(*again, version), to_json(request, version));
    // The records are a slice of the frame that keeps it alive.
    EXPECT_EQ(again->topic_data[0].partition_data[0].records->owner(), whole.owner());
  }
  Result<Chain> answer = response_frame(7, HeartbeatResponse{.throttle_time_ms = 5}, 4);
  ASSERT_TRUE(answer);
  Slice rest = answer->flatten().sub(4);
  Result<Slice> body = parse_response(rest, ApiKey::kHeartbeat, 4, 7);
  ASSERT_TRUE(body);
  EXPECT_EQ(decode<HeartbeatResponse>(*body, 4)->throttle_time_ms, 5);
  EXPECT_FALSE(parse_response(rest, ApiKey::kHeartbeat, 4, 8));
}

TEST(Frame, RecordsOfAFetchAreNotCopied) {
  Slice head = Slice::copy_of(std::string(16, 'h'));
  Slice batch = Slice::copy_of(std::string(5000, 'b'));
  FetchResponse response;
  response.responses.push_back({.topic = "t"});
  for (int i = 0; i < 2; ++i) {
    FetchResponse::Partition partition{.partition_index = i};
    partition.records.emplace();
    partition.records->append(head);
    partition.records->append(batch);
    response.responses[0].partitions.push_back(std::move(partition));
  }
  Result<Chain> frame = response_frame(1, response, 12);
  ASSERT_TRUE(frame);
  std::vector<const std::byte*> at;
  for (const Slice& slice : frame->slices()) at.push_back(slice.data());
  ASSERT_EQ(at.size(), 7U);  // front, head, batch, between, head, batch, end
  EXPECT_EQ(at[1], head.data());
  EXPECT_EQ(at[2], batch.data());
  EXPECT_EQ(at[4], head.data());
  EXPECT_EQ(at[5], batch.data());
  // The size in front counts everything behind it.
  Slice whole = frame->flatten();
  EXPECT_EQ(static_cast<std::size_t>(ByteReader(whole.bytes()).i32()), whole.size() - 4);
  Result<Slice> body = parse_response(whole.sub(4), ApiKey::kFetch, 12, 1);
  ASSERT_TRUE(body);
  Result<FetchResponse> again = decode<FetchResponse>(*body, 12);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->responses[0].partitions[1].records->size(), 5016U);
}

TEST(Frame, WhatDoesNotFitIsAnError) {
  ProduceResponse response;
  response.responses.push_back({.name = std::string(32768, 'x')});
  Result<Chain> frame = response_frame(1, response, 8);
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().message,
            "Produce response v8: a field of 32768 bytes is longer than its length can say");
  EXPECT_TRUE(response_frame(1, response, 9));
  response.responses[0].name.pop_back();
  EXPECT_TRUE(response_frame(1, response, 8));
  EXPECT_EQ(response_frame(1, response, 2).error().message,
            "Produce response has versions 3 to 13, not 2");
  std::string name(32768, 'c');
  EXPECT_FALSE(request_frame(1, name, HeartbeatRequest{}, 0));
}

}  // namespace
}  // namespace weir::kafka

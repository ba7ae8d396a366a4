#include "kafka/protocol/decoder.h"

#include "base/byte_writer.h"
#include "kafka/protocol/messages/describe_configs.h"
#include "kafka/protocol/messages/fetch.h"
#include "kafka/protocol/messages/heartbeat.h"
#include "kafka/protocol/messages/join_group.h"
#include "kafka/protocol/messages/metadata.h"
#include "kafka/protocol/messages/offset_fetch.h"
#include "kafka/protocol/messages/streams_group_heartbeat.h"

#include <gtest/gtest.h>

namespace weir::kafka {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

template <typename M>
std::string error_of(std::string_view bytes, std::int16_t version) {
  Result<M> result = decode<M>(Slice::copy_of(bytes), version);
  return result ? "decodes" : result.error().message;
}

TEST(Decoder, ArrayCountsThatLieAreRefusedBeforeMemoryIsTaken) {
  // 2^31 - 1 topics in four bytes, and the same in the compact form.
  EXPECT_EQ(error_of<MetadataRequest>("\x7f\xff\xff\xff"sv, 1),
            "Metadata request v1: at byte 4 of 4: an array has more elements than the bytes left "
            "can hold");
  EXPECT_EQ(error_of<MetadataRequest>("\xff\xff\xff\xff\x0f\x00\x00\x00"sv, 9),
            "Metadata request v9: at byte 5 of 8: an array has more elements than the bytes left "
            "can hold");
  EXPECT_EQ(error_of<MetadataRequest>("\xff\xff\xff\xfe"sv, 1),
            "Metadata request v1: at byte 4 of 4: a length below -1");
  // Six topics of at least two bytes each need twelve.
  EXPECT_EQ(error_of<MetadataRequest>(
                "\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"sv, 1),
            "Metadata request v1: at byte 4 of 15: an array has more elements than the bytes left "
            "can hold");
}

TEST(Decoder, ManyTinyElementsAreRefused) {
  // A topic of a group takes 3 bytes on the wire and about 56 in memory.
  auto groups_of = [](std::uint32_t topics) {
    ByteWriter out;
    out.uvarint(2);           // one group
    out.text("\x02g");        // its name
    out.uvarint(0);           // no member id
    out.i32(-1);              // nor epoch
    out.uvarint(topics + 1);  // its topics
    for (std::uint32_t i = 0; i < topics; ++i) out.text("\x01\x01\x00"sv);
    out.text("\x00\x00\x00"sv);  // tags of the group, require_stable, tags of the request
    return std::string(as_text(out.view()));
  };
  EXPECT_EQ(error_of<OffsetFetchRequest>(groups_of(1000), 9), "decodes");
  EXPECT_EQ(error_of<OffsetFetchRequest>(groups_of(100'000), 9),
            "OffsetFetch request v9: at byte 11 of 300014: arrays take far more memory than the "
            "message has bytes");
}

TEST(Decoder, NullWhereItIsNotAllowed) {
  // Metadata may have null topics from version 1.
  EXPECT_EQ(error_of<MetadataRequest>("\xff\xff\xff\xff"sv, 0),
            "Metadata request v0: at byte 4 of 4: null for an array that must not be null");
  Result<MetadataRequest> all = decode<MetadataRequest>(Slice::copy_of("\xff\xff\xff\xff"sv), 1);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->topics, std::nullopt);
  EXPECT_EQ(error_of<MetadataRequest>("\x00\x00\x00\x01\xff\xff"sv, 1),
            "Metadata request v1: at byte 6 of 6: null for a string that must not be null");
  EXPECT_EQ(error_of<MetadataRequest>("\x02\x00\x00\x00\x00\x00\x00"sv, 9),
            "Metadata request v9: at byte 2 of 7: null for a string that must not be null");
}

// U+FFFD stands where text is not UTF-8, also for who gets the message after the decoder is gone.
TEST(Decoder, TextOfRequestsIsMadeUtf8) {
  const Slice bytes = Slice::copy_of(
      "\x00\x04"
      "b\xff"
      "ad\x00\x00\x00\x05\x00\x03m\xe2\x82\x00\x02\xc3\xa4"sv);
  Result<HeartbeatRequest> request = decode<HeartbeatRequest>(bytes, 3);
  ASSERT_TRUE(request) << request.error().message;
  const HeartbeatRequest copy = *request;
  request = std::unexpected(Error{});
  EXPECT_EQ(copy.group_id,
            "b\xEF\xBF\xBD"
            "ad");
  EXPECT_EQ(copy.member_id, "m\xEF\xBF\xBD");
  EXPECT_EQ(copy.group_instance_id, "\xc3\xa4");
  // What was right is not copied.
  EXPECT_GE(as_bytes(*copy.group_instance_id).data(), bytes.data());
  EXPECT_LT(as_bytes(*copy.group_instance_id).data(), bytes.data() + bytes.size());
}

TEST(Decoder, BytesOfRequestsStayAsTheyAre) {
  JoinGroupRequest request;
  const std::string metadata = "\xff\xfe";
  request.protocols = {{.name = "range", .metadata = as_bytes(metadata)}};
  const Slice bytes = encode(request, 5)->flatten();
  Result<JoinGroupRequest> again = decode<JoinGroupRequest>(bytes, 5);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(as_text(again->protocols.at(0).metadata), metadata);
}

// Brokers and files say what was decoded once.
TEST(Decoder, TextOfResponsesStaysAsItIs) {
  MetadataResponse response;
  response.topics = {{.name = "b\xff"}};
  Result<MetadataResponse> again = decode<MetadataResponse>(encode(response, 9)->flatten(), 9);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->topics.at(0).name, "b\xff");
}

TEST(Decoder, TextsThatGrowCountAsMemory) {
  constexpr std::size_t kMemory = 10'000 * 3 + sizeof(std::string);
  const std::string group(10'000, '\xff');
  const Slice bytes = encode(HeartbeatRequest{.group_id = group}, 3)->flatten();
  auto request = decode_within<HeartbeatRequest>(kMemory, bytes, 3);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->group_id.size(), 30'000U);
  request = decode_within<HeartbeatRequest>(kMemory - 1, bytes, 3);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(request.error().message,
            "Heartbeat request v3: at byte 10002 of 10010: texts that are not UTF-8 take far more "
            "memory than the message has bytes");
}

// What is stored must fit into the answers of versions whose lengths have 16 bits, as U+FFFD too.
TEST(Decoder, TextOfRequestsHasALimitInEveryVersion) {
  auto decoded = [](const std::string& group) {
    return error_of<HeartbeatRequest>(
        as_text(encode(HeartbeatRequest{.group_id = group}, 4)->flatten().bytes()), 4);
  };
  EXPECT_EQ(decoded(std::string(32'767, 'g')), "decodes");
  EXPECT_EQ(decoded(std::string(32'768, 'g')),
            "Heartbeat request v4: at byte 32771 of 32778: a string has more than 32767 bytes, "
            "written as UTF-8");
  EXPECT_EQ(decoded(std::string(10'922, '\xff')), "decodes");
  EXPECT_EQ(decoded(std::string(10'923, '\xff')),
            "Heartbeat request v4: at byte 10925 of 10932: a string has more than 32767 bytes, "
            "written as UTF-8");
}

TEST(Decoder, BytesLeftOver) {
  EXPECT_EQ(error_of<MetadataRequest>("\x00\x00\x00\x00?"sv, 1),
            "Metadata request v1: at byte 4 of 5: bytes are left over");
}

TEST(Decoder, EndWithinAField) {
  EXPECT_EQ(error_of<HeartbeatRequest>("\x00\x01g\x00\x00"sv, 0),
            "Heartbeat request v0: the 5 bytes end within a field");
  EXPECT_EQ(error_of<HeartbeatRequest>("", 0),
            "Heartbeat request v0: the 0 bytes end within a field");
}

TEST(Decoder, VersionsThatAMessageDoesNotHave) {
  EXPECT_EQ(error_of<FetchRequest>("", 3), "Fetch request has versions 4 to 18, not 3");
  EXPECT_EQ(error_of<FetchRequest>("", 19), "Fetch request has versions 4 to 18, not 19");
  EXPECT_EQ(error_of<FetchRequest>("", -1), "Fetch request has versions 4 to 18, not -1");
}

// Heartbeat v4 with the given tagged fields at its end.
std::string heartbeat(std::string_view tags) {
  return "\x02g\x00\x00\x00\x01\x02m\x00"s.substr(0, 9) + std::string(tags);
}

TEST(Decoder, UnknownTaggedFieldsAreSkipped) {
  EXPECT_EQ(error_of<HeartbeatRequest>(heartbeat("\x00"sv), 4), "decodes");
  EXPECT_EQ(error_of<HeartbeatRequest>(heartbeat("\x02\x00\x01x\x07\x00"sv), 4), "decodes");
  EXPECT_EQ(error_of<HeartbeatRequest>(heartbeat("\x01\xff\xff\xff\xff\x0f\x01x"sv), 4), "decodes");
}

TEST(Decoder, TaggedFieldsOutOfOrder) {
  std::string message =
      "Heartbeat request v4: at byte 15 of 15: tagged fields are not in ascending order";
  EXPECT_EQ(error_of<HeartbeatRequest>(heartbeat("\x02\x03\x01x\x03\x00"sv), 4), message);
  EXPECT_EQ(error_of<HeartbeatRequest>(heartbeat("\x02\x03\x01x\x02\x00"sv), 4), message);
}

TEST(Decoder, TaggedFieldsWithWrongSizes) {
  EXPECT_EQ(error_of<HeartbeatRequest>(heartbeat("\x01\x03\x02x"sv), 4),
            "Heartbeat request v4: at byte 12 of 13: a tagged field is longer than the bytes left");
  EXPECT_EQ(error_of<HeartbeatRequest>(heartbeat("\x05"sv), 4),
            "Heartbeat request v4: the 10 bytes end within a field");
  // Tag 0 of a Fetch request is the cluster id: "c" in two bytes, announced with three and with
  // one.
  std::string front = std::string(21, 0) + "\1\1\1";
  EXPECT_EQ(error_of<FetchRequest>(front + "\1\0\2\2c"s, 15), "decodes");
  EXPECT_EQ(error_of<FetchRequest>(front + std::string("\x01\x00\x03\x02"
                                                       "c?",
                                                       6),
                                   15),
            "Fetch request v15: at byte 29 of 30: a tagged field is shorter than its size says");
  EXPECT_EQ(error_of<FetchRequest>(front + std::string("\x01\x00\x01\x02"
                                                       "c",
                                                       5),
                                   15),
            "Fetch request v15: at byte 28 of 29: a string is longer than the bytes left");
}

TEST(Decoder, MarkOfANullableStruct) {
  StreamsGroupHeartbeatRequest request;
  request.topology = StreamsGroupHeartbeatRequest::Topology{.epoch = 3};
  Slice good = encode(request, 0)->flatten();
  ASSERT_TRUE(decode<StreamsGroupHeartbeatRequest>(good, 0));
  std::string bytes(as_text(good.bytes()));
  // group id, member id, two int32, two nulls, int32: the mark is behind 16 bytes.
  ASSERT_EQ(bytes[16], 1);
  bytes[16] = 2;
  EXPECT_EQ(error_of<StreamsGroupHeartbeatRequest>(bytes, 0),
            "StreamsGroupHeartbeat request v0: at byte 17 of " + std::to_string(bytes.size()) +
                ": a struct's mark is neither 1 nor -1");
}

TEST(Decoder, FieldsThatAVersionLacksKeepTheirDefault) {
  FetchRequest request;
  request.max_bytes = 5;
  request.session_id = 9;  // from version 7
  request.rack_id = "r";   // from version 11
  Result<FetchRequest> old = decode<FetchRequest>(encode(request, 4)->flatten(), 4);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->max_bytes, 5);
  EXPECT_EQ(old->session_id, 0);
  EXPECT_EQ(old->session_epoch, -1);
  EXPECT_EQ(old->rack_id, "");
  EXPECT_EQ(to_json(request, 4).find("rack_id"), std::string::npos);
}

TEST(Decoder, NullBecomesEmptyInVersionsWithoutNull) {
  MetadataRequest request;
  request.topics.reset();
  Result<MetadataRequest> old = decode<MetadataRequest>(encode(request, 0)->flatten(), 0);
  ASSERT_TRUE(old);
  ASSERT_TRUE(old->topics);
  EXPECT_TRUE(old->topics->empty());
}

}  // namespace
}  // namespace weir::kafka

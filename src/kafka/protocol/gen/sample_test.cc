// The generator's output for a schema that uses all of the language, against bytes worked out by
// hand.
#include "kafka/protocol/sample/sample.h"

#include "kafka/protocol/message_check.h"

#include <gtest/gtest.h>

namespace weir::kafka::sample {

std::span<const MessageCheck> message_checks();

namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string bytes_of(const auto& message, std::int16_t version) {
  Result<Chain> chain = encode(message, version);
  EXPECT_TRUE(chain) << chain.error().message;
  return chain ? std::string(as_text(chain->flatten().bytes())) : std::string();
}

Snapshot example() {
  Snapshot snapshot;
  snapshot.name = "n";
  snapshot.color = Color::kRed;
  snapshot.colors = {Color::kGreen};
  snapshot.extents.push_back(
      {.base_offset = -1, .object = ObjectId{5}, .spans = {{.begin = 1, .end = 64}}});
  snapshot.last = Extent{.base_offset = 300};
  snapshot.flags = {true, false};
  snapshot.password = "secret";
  snapshot.keys = {{std::byte{'k'}}};
  return snapshot;
}

constexpr auto kFront =
    "\x02n\x3f\xf8\x00\x00\x00\x00\x00\x00\x01"  // name, weight 1.5, color
    "\x02\x02"                                   // colors
    "\x02\x01\x00\x00\x00\x00\x00\x00\x00\x05"   // one extent: -1, object 5
    "\x02\x02\x80\x01\x00\x00"sv;                // its span 1 to 64, its tags, the extent's tags

TEST(Sample, Bytes) {
  EXPECT_EQ(bytes_of(example(), 0), std::string(kFront) +
                                        "\x01"  // payload: empty, since null came in version 1
                                        "\x07secret"  // password
                                        "\x00"s);     // no tagged fields
  EXPECT_EQ(bytes_of(example(), 1),
            std::string(kFront) +
                "\x01\xd8\x04\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00"  // last
                "\x00"                                                  // payload: null
                "\x07secret"                                            // password
                "\x02\x02k"                                             // keys
                "\x00"s);
  Snapshot tagged = example();
  tagged.last.reset();
  tagged.note = "x";
  tagged.count = 8;
  tagged.history = std::vector<std::int64_t>{};
  EXPECT_EQ(bytes_of(tagged, 2), std::string(kFront) +
                                     "\xff"          // last: null
                                     "\x03\x01\x00"  // flags
                                     "\x00"          // payload
                                     "\x07secret"
                                     "\x03"                      // three tags
                                     "\x00\x01\x01"              // history
                                     "\x01\x04\x00\x00\x00\x08"  // count
                                     "\x03\x02\x02x"s);          // note
}

TEST(Sample, TaggedFieldsAtTheirDefaultAreLeftOut) {
  Result<Snapshot> plain = decode<Snapshot>(Slice::copy_of(bytes_of(example(), 2)), 2);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->note, "none");
  EXPECT_EQ(plain->count, 7U);
  EXPECT_EQ(plain->history, std::nullopt);
}

TEST(Sample, SecretsAreNotShown) {
  std::string json = to_json(example(), 1);
  EXPECT_EQ(
      json,
      "{\"name\":\"n\",\"weight\":1.5,\"color\":1,\"colors\":[2],\"extents\":[{\"base_offset\":-1,"
      "\"object\":5,\"spans\":[{\"begin\":1,\"end\":64}]}],\"last\":{\"base_offset\":300,"
      "\"object\":0,"
      "\"spans\":[]},\"payload\":null,\"note\":\"none\",\"count\":7,\"owner\":"
      "\"AAAAAAAAAAAAAAAAAAAAAA\",\"history\":null,\"remark\":\"-\",\"password\":\"****\",\"keys\":"
      "[\"6b\"]}");
}

TEST(Sample, EntriesHaveAnId) {
  EXPECT_EQ(Commit::kId, 4);
  EXPECT_EQ(bytes_of(Commit{.port = 65535, .tail = Slice::copy_of("ab")}, 0),
            "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\xff\xff\x03"
            "ab\x00"sv);
}

TEST(Sample, ComparesByValue) {
  Snapshot other = example();
  EXPECT_EQ(other, example());
  other.extents[0].spans[0].end = 65;
  EXPECT_NE(other, example());
}

TEST(Sample, GoesThereAndBack) {
  ASSERT_EQ(message_checks().size(), 2U);
  for (const MessageCheck& check : message_checks()) {
    for (std::int16_t v = check.min_version; v <= check.max_version; ++v) {
      EXPECT_EQ(find_fault(check, v), "");
    }
  }
}

}  // namespace
}  // namespace weir::kafka::sample

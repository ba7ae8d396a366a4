// The rules are those of java.util.Properties.load.
#include "config/properties.h"

#include <gtest/gtest.h>

namespace weir::config {
namespace {

// "key=value@line" of each property, or the error.
std::vector<std::string> parse(std::string_view text) {
  const auto properties = parse_properties(text);
  if (!properties) return {"error: " + properties.error().message};
  std::vector<std::string> out;
  for (const Property& p : *properties) {
    out.push_back(p.key + "=" + p.value + "@" + std::to_string(p.line));
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(Properties, Separators) {
  EXPECT_EQ(parse("a=1\nb:2\nc 3\nd = 4\ne : 5\nf\t6\ng==7\nh= :8"),
            (Lines{"a=1@1", "b=2@2", "c=3@3", "d=4@4", "e=5@5", "f=6@6", "g==7@7", "h=:8@8"}));
}

TEST(Properties, KeyOrValueMayBeEmpty) {
  EXPECT_EQ(parse("a\nb=\n=c\n"), (Lines{"a=@1", "b=@2", "=c@3"}));
}

TEST(Properties, CommentsAndBlankLines) {
  EXPECT_EQ(parse("# one\n! two\n\n  \t\n   # three\na=1#not\n"), (Lines{"a=1#not@6"}));
}

TEST(Properties, ACommentIsNotContinued) { EXPECT_EQ(parse("# one \\\na=1"), (Lines{"a=1@2"})); }

TEST(Properties, LineEnds) {
  EXPECT_EQ(parse("a=1\r\nb=2\rc=3\n\rd=4"), (Lines{"a=1@1", "b=2@2", "c=3@3", "d=4@5"}));
}

TEST(Properties, ContinuationLines) {
  EXPECT_EQ(parse("list = one,\\\n       two,\\\r\n\tthree\nnext=1"),
            (Lines{"list=one,two,three@1", "next=1@4"}));
  // An even number of backslashes is backslashes.
  EXPECT_EQ(parse("a=x\\\\\nb=1"), (Lines{"a=x\\@1", "b=1@2"}));
  EXPECT_EQ(parse("a=x\\\\\\\n  y"), (Lines{"a=x\\y@1"}));
  EXPECT_EQ(parse("a=end\\"), (Lines{"a=end@1"}));
  // What looks like a comment is a part of the value.
  EXPECT_EQ(parse("a=1\\\n# 2"), (Lines{"a=1# 2@1"}));
}

TEST(Properties, Escapes) {
  EXPECT_EQ(parse(R"(a\ b\=c\:d=\t|\n|\r|\f|\\|\q|\")"), (Lines{"a b=c:d=\t|\n|\r|\f|\\|q|\"@1"}));
  EXPECT_EQ(parse(R"(\#a=1)"), (Lines{"#a=1@1"}));
}

TEST(Properties, LeadingBlanksGoTrailingStay) {
  EXPECT_EQ(parse("  a =  1 2  "), (Lines{"a=1 2  @1"}));
}

TEST(Properties, UnicodeEscapes) {
  EXPECT_EQ(parse("a=\\u0041\\u00e4\\u20AC"), (Lines{"a=A\xC3\xA4\xE2\x82\xAC@1"}));
  EXPECT_EQ(parse("a=\\uD83D\\uDE00"), (Lines{"a=\xF0\x9F\x98\x80@1"}));
  EXPECT_EQ(parse("a=\xC3\xA4"), (Lines{"a=\xC3\xA4@1"}));
}

TEST(Properties, BadUnicodeEscapesNameTheLine) {
  for (std::string_view bad :
       {"\\u12", "\\u12G4", "\\uD83D", "\\uD83Dx", "\\uDE00", "\\uD83D\\u0041"}) {
    const auto result = parse_properties("x=1\n\na=" + std::string(bad));
    ASSERT_FALSE(result) << bad;
    EXPECT_TRUE(result.error().message.starts_with("line 3: \\u must be"))
        << result.error().message;
  }
}

TEST(Properties, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(parse("\xEF\xBB\xBF"
                  "a=1"),
            (Lines{"a=1@1"}));
}

TEST(Properties, NothingIsInNothing) { EXPECT_EQ(parse(""), Lines{}); }

}  // namespace
}  // namespace weir::config

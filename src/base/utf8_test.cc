#include "base/utf8.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

// Bytes in hexadecimal digits, and "?" where U+FFFD stands.
std::string replaced(std::string_view hex) {
  std::string text;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    text += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  std::string out = replace_ill_formed(text);
  EXPECT_EQ(is_utf8(text), out == text) << hex;
  for (std::size_t at = 0; (at = out.find(kUtf8Replacement, at)) != std::string::npos;)
    out.replace(at, kUtf8Replacement.size(), "?");
  return out;
}

TEST(Utf8, WhatIsWellFormedStays) {
  for (std::string_view text :
       {"", "a", "a longer text than one word of the machine", "\x7F", "\xC2\x80", "\xDF\xBF",
        "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80",
        "\xF4\x8F\xBF\xBF", "eight by\xC3\xA4te \xF0\x9F\x98\x80 s"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(replace_ill_formed(text), text);
  }
  const std::string_view zero("a\0b", 3);
  EXPECT_TRUE(is_utf8(zero));
  EXPECT_EQ(replace_ill_formed(zero), zero);
}

// What new String(bytes, UTF_8) of OpenJDK 17 gives.
TEST(Utf8, OneReplacementForWhatJavaTakesTogether) {
  EXPECT_EQ(replaced("62ff6164"), "b?ad");
  EXPECT_EQ(replaced("80"), "?");
  EXPECT_EQ(replaced("c080"), "??");
  EXPECT_EQ(replaced("c341"), "?A");
  EXPECT_EQ(replaced("c3"), "?");
  // The beginning of a character is one.
  EXPECT_EQ(replaced("e282"), "?");
  EXPECT_EQ(replaced("41e28241"), "A?A");
  EXPECT_EQ(replaced("f09f98"), "?");
  EXPECT_EQ(replaced("f09f9841"), "?A");
  EXPECT_EQ(replaced("f09f41"), "?A");
  EXPECT_EQ(replaced("f09ff09f98"), "??");
  // Over-long forms are not, nor what is beyond U+10FFFF.
  EXPECT_EQ(replaced("e08080"), "???");
  EXPECT_EQ(replaced("f0808080"), "????");
  EXPECT_EQ(replaced("f4908080"), "????");
  EXPECT_EQ(replaced("f5808080"), "????");
  EXPECT_EQ(replaced("f888808080"), "?????");
  // A surrogate is one, and so is its beginning.
  EXPECT_EQ(replaced("eda080"), "?");
  EXPECT_EQ(replaced("edbfbf41"), "?A");
  EXPECT_EQ(replaced("eda041"), "?A");
  EXPECT_EQ(replaced("eda0"), "?");
  EXPECT_EQ(replaced("ffffffff4142434445464748ff"), "????ABCDEFGH?");
}

TEST(Utf8, LengthOfTheFirstCharacter) {
  EXPECT_EQ(utf8_length("ab"), 1U);
  EXPECT_EQ(utf8_length("\xC3\xA4"), 2U);
  EXPECT_EQ(utf8_length("\xE2\x82\xACx"), 3U);
  EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80"), 4U);
  EXPECT_EQ(utf8_length("\xE2\x82"), 0U);
  EXPECT_EQ(utf8_length("\xED\xA0\x80"), 0U);
  EXPECT_EQ(utf8_length("\xC1\x80"), 0U);
}

}  // namespace
}  // namespace weir

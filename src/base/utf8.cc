#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace weir {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

bool is_continuation(std::string_view text, std::size_t i) {
  return i < text.size() && (byte_at(text, i) & 0xC0) == 0x80;
}

std::size_t length_by_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
}

// Whether the second byte cannot follow the first for a reason of the value: the form is over-long
// or the character beyond U+10FFFF.
bool is_out_of_range(unsigned char lead, unsigned char second) {
  return (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90) ||
         (lead == 0xF4 && second > 0x8F);
}

bool is_surrogate(unsigned char lead, unsigned char second) {
  return lead == 0xED && second > 0x9F;
}

// The bytes at the start that one U+FFFD takes the place of; they are not a character.
std::size_t ill_formed_length(std::string_view text) {
  const std::size_t whole = length_by_lead(byte_at(text, 0));
  if (whole == 0 || !is_continuation(text, 1)) return 1;
  if (is_out_of_range(byte_at(text, 0), byte_at(text, 1))) return 1;
  std::size_t length = 2;
  while (length < whole && is_continuation(text, length)) ++length;
  return length;
}

std::size_t ascii_length(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t length = 0;
  for (std::uint64_t word = 0; length + sizeof(word) <= text.size(); length += sizeof(word)) {
    std::memcpy(&word, text.data() + length, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  while (length < text.size() && byte_at(text, length) < 0x80) ++length;
  return length;
}

// The length of the longest beginning that is UTF-8.
std::size_t good_length(std::string_view text) {
  std::size_t length = ascii_length(text);
  while (length < text.size()) {
    const std::size_t next = utf8_length(text.substr(length));
    if (next == 0) break;
    length += next;
  }
  return length;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const std::size_t length = length_by_lead(byte_at(text, 0));
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text, i)) return 0;
  }
  if (length < 3) return length;
  const bool is_bad = is_out_of_range(byte_at(text, 0), byte_at(text, 1)) ||
                      is_surrogate(byte_at(text, 0), byte_at(text, 1));
  return is_bad ? 0 : length;
}

bool is_utf8(std::string_view text) { return good_length(text) == text.size(); }

std::string replace_ill_formed(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t good = good_length(text);
    out += text.substr(0, good);
    text.remove_prefix(good);
    if (text.empty()) return out;
    out += kUtf8Replacement;
    text.remove_prefix(ill_formed_length(text));
  }
}

}  // namespace weir

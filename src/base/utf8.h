// UTF-8 (RFC 3629): no over-long forms, no surrogates, nothing beyond U+10FFFF. Pure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

// U+FFFD, which stands where text was not UTF-8.
constexpr std::string_view kUtf8Replacement = "\xEF\xBF\xBD";

// The length of the character at the start of `text`, which is not empty; 0 where there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text);

// `text` with U+FFFD where it is not UTF-8, exactly as Java's decoder has it, so that names are the
// same here and in Apache Kafka: one for each longest beginning of a character (Unicode 3.9, D93b),
// but also one for a whole surrogate of three bytes.
[[nodiscard]] std::string replace_ill_formed(std::string_view text);

}  // namespace weir

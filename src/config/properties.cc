#include "config/properties.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace weir::config {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

std::string_view skip_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// Whether the line ends in a backslash that is not itself escaped.
bool goes_on(std::string_view line) {
  const auto last = line.find_last_not_of('\\');
  const std::size_t slashes = line.size() - (last == std::string_view::npos ? 0 : last + 1);
  return slashes % 2 == 1;
}

// Takes one line off the front of `text`, which ends in \n, \r or \r\n.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find_first_of("\r\n");
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos) {
    text = {};
  } else {
    text.remove_prefix(text.substr(end, 2) == "\r\n" ? end + 2 : end + 1);
  }
  return line;
}

// The number in the four hexadecimal digits that `text` must begin with.
std::optional<std::uint32_t> take_hex(std::string_view& text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t number = 0;
  for (char c : text.substr(0, 4)) {
    const bool digit = c >= '0' && c <= '9';
    const char lower = static_cast<char>(c | 0x20);
    if (!digit && (lower < 'a' || lower > 'f')) return std::nullopt;
    number = number * 16 + static_cast<std::uint32_t>(digit ? c - '0' : lower - 'a' + 10);
  }
  text.remove_prefix(4);
  return number;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

// After "\u": one character, which may be written as two surrogates. False: not well formed.
bool append_unicode(std::string& out, std::string_view& text) {
  auto c = take_hex(text);
  if (!c) return false;
  if (*c >= 0xD800 && *c < 0xDC00) {
    if (!text.starts_with("\\u")) return false;
    text.remove_prefix(2);
    const auto low = take_hex(text);
    if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
    c = 0x10000 + ((*c - 0xD800) << 10) + (*low - 0xDC00);
  } else if (*c >= 0xDC00 && *c < 0xE000) {
    return false;
  }
  append_utf8(out, *c);
  return true;
}

// The text without its escapes, or nothing when a \u escape is not well formed.
std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    char c = text.front();
    text.remove_prefix(1);
    if (c == '\\' && !text.empty()) {
      c = text.front();
      text.remove_prefix(1);
      if (c == 'u') {
        if (!append_unicode(out, text)) return std::nullopt;
        continue;
      }
      if (c == 't') c = '\t';
      if (c == 'n') c = '\n';
      if (c == 'r') c = '\r';
      if (c == 'f') c = '\f';
    }
    out += c;
  }
  return out;
}

// Where the key ends: at the first blank, = or : that is not escaped.
std::size_t key_length(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\') {
      ++i;
    } else if (is_blank(c) || c == '=' || c == ':') {
      return i;
    }
  }
  return line.size();
}

Result<Property> parse_line(std::string_view line, std::size_t number) {
  const std::size_t length = key_length(line);
  std::string_view rest = skip_blanks(line.substr(length));
  if (!rest.empty() && (rest.front() == '=' || rest.front() == ':')) {
    rest = skip_blanks(rest.substr(1));
  }
  auto key = unescape(line.substr(0, length));
  auto value = unescape(rest);
  if (!key || !value) {
    return fail(ErrorCode::kInvalid,
                fmt::format("line {}: \\u must be followed by four hexadecimal digits that are a "
                            "character (a backslash itself is written \\\\)",
                            number));
  }
  return Property{.key = *std::move(key), .value = *std::move(value), .line = number};
}

}  // namespace

Result<std::vector<Property>> parse_properties(std::string_view text) {
  std::vector<Property> properties;
  std::size_t number = 0;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  while (!text.empty()) {
    const std::size_t first = ++number;
    std::string_view line = skip_blanks(take_line(text));
    if (line.empty() || line.front() == '#' || line.front() == '!') continue;
    std::string logical(line);
    while (goes_on(logical)) {
      logical.pop_back();
      if (text.empty()) break;
      ++number;
      logical += skip_blanks(take_line(text));
    }
    WEIR_TRY(Property property, parse_line(logical, first));
    properties.push_back(std::move(property));
  }
  return properties;
}

}  // namespace weir::config

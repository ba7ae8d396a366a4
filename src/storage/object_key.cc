#include "storage/object_key.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::storage {
namespace {

constexpr std::size_t kMaxKey = 512;
constexpr std::size_t kMaxPart = 255;

bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '=' || c == '-';
}

Status refuse(std::string_view what, std::string_view text) {
  return fail(
      ErrorCode::kInvalid,
      fmt::format(
          "{} '{}' is not made of '/'-separated parts of [A-Za-z0-9._=-], at most {} bytes in "
          "all and {} a part, none empty, '.' or '..'",
          what, text.substr(0, kMaxKey), kMaxKey, kMaxPart));
}

// A key, or the beginning of one when `partial`.
bool is_key_text(std::string_view text, bool partial) {
  if (text.size() > kMaxKey) return false;
  while (true) {
    std::size_t slash = text.find('/');
    std::string_view part = text.substr(0, slash);
    bool last = slash == std::string_view::npos;
    if (last && partial) return part.size() <= kMaxPart && std::ranges::all_of(part, is_key_char);
    if (!is_key_part(part)) return false;
    if (last) return true;
    text.remove_prefix(slash + 1);
  }
}

}  // namespace

bool is_key_part(std::string_view part) {
  return !part.empty() && part.size() <= kMaxPart && part != "." && part != ".." &&
         std::ranges::all_of(part, is_key_char);
}

Status check_key(std::string_view key) {
  if (!is_key_text(key, false)) return refuse("object key", key);
  return {};
}

Status check_list(std::string_view prefix, std::string_view after, std::size_t limit) {
  if (!is_key_text(prefix, true)) return refuse("list prefix", prefix);
  if (!is_key_text(after, true)) return refuse("list start", after);
  if (limit == 0 || limit > kMaxListLimit) {
    return fail(ErrorCode::kInvalid,
                fmt::format("list limit {} is not between 1 and {}", limit, kMaxListLimit));
  }
  return {};
}

Status check_range(std::string_view key, ByteRange range, ByteCount size) {
  if (range.from <= size && range.count <= size - range.from) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("{} bytes from {} lie beyond the {} bytes of object {}", range.count,
                          range.from, size, key));
}

}  // namespace weir::storage

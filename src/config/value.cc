#include "config/value.h"

#include "base/secret.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace weir::config {
namespace {

char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

struct Limits {
  std::int64_t min;
  std::int64_t max;
};

Limits limits_of(ValueType type) {
  switch (type) {
    case ValueType::kShort:
      return {INT16_MIN, INT16_MAX};
    case ValueType::kInt:
      return {INT32_MIN, INT32_MAX};
    default:
      return {INT64_MIN, INT64_MAX};
  }
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The value of the key's type, or nothing.
std::optional<Value> parse_type(ValueType type, std::string_view text) {
  switch (type) {
    case ValueType::kBoolean:
      if (equal_ignoring_case(text, "true")) return true;
      if (equal_ignoring_case(text, "false")) return false;
      return std::nullopt;
    case ValueType::kInt:
    case ValueType::kShort:
    case ValueType::kLong: {
      const auto number = parse_number<std::int64_t>(text);
      const Limits limits = limits_of(type);
      if (!number || *number < limits.min || *number > limits.max) return std::nullopt;
      return *number;
    }
    case ValueType::kDouble: {
      const auto number = parse_number<double>(text);
      if (!number || std::isnan(*number)) return std::nullopt;
      return *number;
    }
    case ValueType::kList:
      return split_list(text);
    case ValueType::kString:
    case ValueType::kClass:
    case ValueType::kPassword:
      return std::string(text);
  }
  return std::nullopt;
}

bool all_elements(const Value& value, auto&& check) {
  if (const auto* list = std::get_if<List>(&value)) return std::ranges::all_of(*list, check);
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && check(*text);
}

bool is_throttled_replica(std::string_view element) {
  const auto colon = element.find(':');
  return colon != std::string_view::npos && is_digits(element.substr(0, colon)) &&
         is_digits(element.substr(colon + 1));
}

// The rest of an ISO 8601 duration after P or T: numbers, each with one of `units`, in their order.
bool consume_units(std::string_view& text, std::string_view units) {
  bool any = false;
  while (!text.empty() && text.front() != 'T') {
    std::size_t digits = text.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos) return false;
    if (text[digits] == '.') {  // a fraction: of seconds only, at most nanoseconds
      const std::size_t fraction = text.find_first_not_of("0123456789", digits + 1);
      if (fraction == std::string_view::npos || text[fraction] != 'S' || fraction - digits > 10) {
        return false;
      }
      digits = fraction;
    }
    const auto unit = units.find(text[digits]);
    if (unit == std::string_view::npos) return false;
    units.remove_prefix(unit + 1);
    text.remove_prefix(digits + 1);
    any = true;
  }
  return any;
}

// A duration that is not negative: PnDTnHnMn.nS.
bool is_duration(std::string_view text) {
  if (!text.starts_with('P')) return false;
  text.remove_prefix(1);
  const bool days = !text.empty() && text.front() != 'T';
  if (days && !consume_units(text, "D")) return false;
  if (text.empty()) return days;
  text.remove_prefix(1);
  return consume_units(text, "HMS") && text.empty();
}

bool is_offset_reset(std::string_view text) {
  constexpr std::string_view kByDuration = "by_duration:";
  if (text == "earliest" || text == "latest") return true;
  return text.starts_with(kByDuration) && is_duration(text.substr(kByDuration.size()));
}

bool in_range(const Valid& valid, const Value& value) {
  // The bounds of the table are small enough to be exact, and so is the comparison.
  double number = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) number = *real;
  return number >= valid.min && number <= valid.max;
}

bool is_valid(const ConfigKey& key, const Value& value) {
  const Valid& valid = key.valid;
  switch (valid.kind) {
    case Valid::Kind::kAny:
      return true;
    case Valid::Kind::kNonEmpty:
      return all_elements(value, [](std::string_view text) { return !text.empty(); });
    case Valid::Kind::kRange:
      return in_range(valid, value);
    case Valid::Kind::kOneOf:
      return all_elements(value, [&](std::string_view text) {
        return std::ranges::find(valid.choices, text) != valid.choices.end();
      });
    case Valid::Kind::kOneOfIgnoringCase:
      return all_elements(value, [&](std::string_view text) {
        return std::ranges::any_of(valid.choices, [&](std::string_view choice) {
          return equal_ignoring_case(text, choice);
        });
      });
    case Valid::Kind::kGzipLevel: {
      const std::int64_t level = std::get<std::int64_t>(value);
      return level == -1 || (level >= 1 && level <= 9);
    }
    case Valid::Kind::kThrottledReplicas:
      return std::get<List>(value) == List{"*"} || all_elements(value, is_throttled_replica);
    case Valid::Kind::kOffsetReset:
      return all_elements(value, is_offset_reset);
  }
  return false;
}

std::string type_in_words(ValueType type) {
  switch (type) {
    case ValueType::kBoolean:
      return "true or false";
    case ValueType::kInt:
    case ValueType::kShort:
    case ValueType::kLong:
      return fmt::format("a whole number from {} to {}", limits_of(type).min, limits_of(type).max);
    case ValueType::kDouble:
      return "a number";
    case ValueType::kList:
      return "a comma-separated list";
    default:
      return "a text";
  }
}

// As Java writes it: always with a point, with an exponent below 0.001 and from 10,000,000.
std::string double_text(double number) {
  const double size = std::abs(number);
  if (number == 0 || (size >= 1e-3 && size < 1e7)) {
    std::string text = fmt::format("{}", number);
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  // Shortest digits that give the number back, as d.dddE<exponent>.
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific);
  const std::string_view all(digits, static_cast<std::size_t>(end.ptr - digits));
  const auto e = all.find('e');
  std::string mantissa(all.substr(0, e));
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  return fmt::format("{}E{}", mantissa, parse_number<std::int64_t>(all.substr(e + 1)).value_or(0));
}

// scheme://user:password@host and ...?password=x, with the password hidden.
std::string hide_passwords(std::string url) {
  const auto authority = url.find("://");
  if (authority != std::string::npos) {
    const auto begin = authority + 3;
    const auto end = url.find_first_of("/?", begin);
    const auto at = std::string_view(url).substr(0, end).rfind('@');
    const auto colon = url.find(':', begin);
    if (at != std::string::npos && colon < at)
      url.replace(colon + 1, at - colon - 1, kHiddenSecret);
  }
  constexpr std::string_view kParameter = "password=";
  for (auto at = url.find(kParameter); at != std::string::npos; at = url.find(kParameter, at + 1)) {
    const auto begin = at + kParameter.size();
    const auto end = std::min(url.find('&', begin), url.size());
    url.replace(begin, end - begin, kHiddenSecret);
  }
  return url;
}

}  // namespace

std::string_view trim(std::string_view text) {
  auto blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

List split_list(std::string_view text) {
  text = trim(text);
  List list;
  if (text.empty()) return list;
  while (true) {
    const auto comma = text.find(',');
    list.emplace_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

std::string valid_values(const ConfigKey& key) {
  std::string words = type_in_words(key.type);
  if (!key.valid.text.empty()) words += fmt::format("; valid: {}", key.valid.text);
  return words;
}

Result<Value> parse_value(const ConfigKey& key, std::string_view text) {
  text = trim(text);
  auto value = parse_type(key.type, text);
  if (value && is_valid(key, *value)) return *std::move(value);
  return fail(ErrorCode::kInvalid,
              fmt::format("Invalid value {} for configuration {}: must be {}",
                          key.sensitive() ? kHiddenSecret : text, key.name, valid_values(key)));
}

std::string to_text(const Value& value) {
  struct Visitor {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return double_text(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const List& v) const { return fmt::format("{}", fmt::join(v, ",")); }
  };
  return std::visit(Visitor{}, value);
}

std::string canonical_text(const ConfigKey& key, std::string_view text) {
  const auto value = parse_type(key.type, trim(text));
  return value ? to_text(*value) : std::string(text);
}

std::optional<std::string> shown_text(const ConfigKey& key, std::string_view text) {
  if (key.sensitive()) return std::nullopt;
  std::string shown = canonical_text(key, text);
  return key.name.ends_with(".url") ? hide_passwords(std::move(shown)) : shown;
}

}  // namespace weir::config

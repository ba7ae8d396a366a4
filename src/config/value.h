// Values of configuration keys: from text to a checked value, and back to the text that is shown.
// The text form follows Kafka: white space around a value does not count, lists are separated by
// commas. Pure functions. Errors: kInvalid, with the key, the value (never that of a password) and
// what is valid.
#pragma once
#include "base/error.h"
#include "config/keys.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weir::config {

using List = std::vector<std::string>;

// Numbers of every width are int64; strings, classes and passwords are text.
using Value = std::variant<bool, std::int64_t, double, std::string, List>;

// Checks the type and what the key calls valid.
[[nodiscard]] Result<Value> parse_value(const ConfigKey& key, std::string_view text);

// The value as DescribeConfigs shows it: "1048588", "compact,delete", "0.5".
[[nodiscard]] std::string to_text(const Value& value);

// Text that is well formed in the canonical form, any other as it is.
[[nodiscard]] std::string canonical_text(const ConfigKey& key, std::string_view text);

// The text as people may see it: canonical, without the passwords of URLs; nothing of a password.
[[nodiscard]] std::optional<std::string> shown_text(const ConfigKey& key, std::string_view text);

// The elements of a comma-separated list, without the white space around them; none for an empty
// text.
[[nodiscard]] List split_list(std::string_view text);

// Without white space (in Java's sense: control characters too) at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

// "whole number from -2147483648 to 2147483647; valid: [0,...]": what a value of the key may be.
[[nodiscard]] std::string valid_values(const ConfigKey& key);

}  // namespace weir::config

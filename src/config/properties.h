// Reads the `.properties` format of Java, which Kafka's configuration files have: `key = value`,
// `key: value` or `key value`, comments after # or !, a backslash for escapes and to go on in the
// next line. Unlike old Java the text is UTF-8. Pure. Errors: kInvalid, with the line.
#pragma once
#include "base/error.h"

#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

struct Property {
  std::string key;
  std::string value;
  std::size_t line = 0;  // where it begins, the first is 1
};

// In the order of the text; a key may be there more than once.
[[nodiscard]] Result<std::vector<Property>> parse_properties(std::string_view text);

}  // namespace weir::config

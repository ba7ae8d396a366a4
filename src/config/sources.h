// Where a broker's own configuration comes from: the file, then WEIR_KEY_NAME environment variables
// over it, then --set over both. Unknown keys and bad values are errors that name their place; all
// of them are reported at once. Keys of Kafka that have no effect here are accepted with a warning,
// so that a server.properties can be brought along.
#pragma once
#include "base/error.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::config {

struct FileText {
  std::string name;  // for messages
  std::string text;
};

struct Sources {
  std::optional<FileText> file;
  std::vector<std::pair<std::string, std::string>> environment;  // name and value, only WEIR_*
  std::vector<std::string> sets;                                 // "key=value"
};

struct Setting {
  std::string value;
  std::string origin;  // "weir.properties:12", "environment variable WEIR_NODE_ID", "--set"
};

struct StaticSettings {
  std::map<std::string, Setting, std::less<>> values;  // keys of the table only
  std::vector<std::string> warnings;
};

// The greatest configuration file that is read.
constexpr std::size_t kMaxConfigFileBytes = std::size_t{1} << 20;

// The problems that one error lists; it counts the others.
constexpr std::size_t kMaxListedProblems = 20;

[[nodiscard]] Result<FileText> read_config_file(const std::string& path);

// The variables of the process that begin with WEIR_, in the order of their names.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> weir_environment();

// Errors: kInvalid; the message has one line for each problem.
[[nodiscard]] Result<StaticSettings> merge_sources(const Sources& sources);

// "num.partitions" → "WEIR_NUM_PARTITIONS".
[[nodiscard]] std::string environment_name(std::string_view key);

}  // namespace weir::config

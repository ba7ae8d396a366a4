#include "config/sources.h"

#include "base/secret.h"
#include "config/keys.h"
#include "config/properties.h"
#include "config/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

extern "C" char** environ;

namespace weir::config {
namespace {

constexpr std::string_view kEnvironmentPrefix = "WEIR_";

// Kubernetes puts WEIR_SERVICE_HOST, WEIR_PORT_9092_TCP and the like into every container beside a
// service named weir or weir-something: they are nobody's settings.
bool is_service_link(std::string_view name) {
  auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return name.ends_with("_SERVICE_HOST") || has("_SERVICE_PORT") || name.ends_with("_PORT") ||
         has("_TCP") || has("_UDP");
}

class Merger {
 public:
  void add_file(const FileText& file) {
    const auto properties = parse_properties(file.text);
    if (!properties) {
      problem(fmt::format("{}: {}", file.name, properties.error().message));
      return;
    }
    std::map<std::string_view, std::size_t> lines;
    for (const Property& property : *properties) {
      const std::string origin = fmt::format("{}:{}", file.name, property.line);
      const auto [first, fresh] = lines.emplace(property.key, property.line);
      if (!fresh) {
        warn(fmt::format("{}: {} is there again; the value of line {} does not count", origin,
                         property.key, first->second));
        first->second = property.line;
      }
      add(property.key, property.value, origin);
    }
  }

  void add_environment(const std::string& name, const std::string& value) {
    const std::string origin = "environment variable " + name;
    for (const ConfigKey& key : keys(Scope::kBroker)) {
      if (environment_name(key.name) == name) {
        add(key.name, value, origin);
        return;
      }
    }
    if (is_service_link(name)) return;
    std::string guess = name.substr(kEnvironmentPrefix.size());
    for (char& c : guess) c = c == '_' ? '.' : static_cast<char>(std::tolower(c));
    problem(
        fmt::format("{}: no configuration is named {}{}; WEIR_ and the key in upper case with "
                    "_ for . is what is meant",
                    origin, guess, suggestion(Scope::kBroker, guess)));
  }

  void add_set(const std::string& assignment) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || trim(assignment.substr(0, equals)).empty()) {
      problem(fmt::format("--set {}: must be key=value", assignment));
      return;
    }
    add(trim(std::string_view(assignment).substr(0, equals)), assignment.substr(equals + 1),
        "--set");
  }

  Result<StaticSettings> take() {
    for (const auto& [name, setting] : result_.values) check(name, setting);
    if (problems_.empty()) return std::move(result_);
    if (left_out_ > 0) problems_.push_back(fmt::format("and {} more", left_out_));
    return fail(ErrorCode::kInvalid, fmt::format("{}", fmt::join(problems_, "\n")));
  }

 private:
  // Whether another problem would be listed; it is counted otherwise. Asked first where its text is
  // dear.
  bool lists_another() {
    if (problems_.size() < kMaxListedProblems) return true;
    ++left_out_;
    return false;
  }
  void problem(std::string text) {
    if (lists_another()) problems_.push_back(std::move(text));
  }
  void warn(std::string text) { result_.warnings.push_back(std::move(text)); }

  void add(std::string_view name, std::string_view value, const std::string& origin) {
    if (find_key(Scope::kBroker, name) != nullptr) {
      result_.values.insert_or_assign(std::string(name), Setting{std::string(value), origin});
    } else if (is_ignored_key(name)) {
      warn(fmt::format("{}: {} has no effect in Weir", origin, name));
    } else if (lists_another()) {
      problems_.push_back(fmt::format("{}: unknown configuration {}{}", origin, name,
                                      suggestion(Scope::kBroker, name)));
    }
  }

  // Only the value that counts is checked: an override may mend what a file has wrong.
  void check(std::string_view name, const Setting& setting) {
    const ConfigKey& key = *find_key(Scope::kBroker, name);
    if (!key.used) {
      // Its value is nobody's: Kafka's configuration may name what only exists there.
      warn(fmt::format("{}: {} has no effect in Weir: {}", setting.origin, name, key.note));
    }
    // As in Kafka, an empty text is no number and no choice, but a fine list or text.
    if (auto value = parse_value(key, setting.value); !value) {
      problem(fmt::format("{}: {}", setting.origin, value.error().message));
    }
  }

  StaticSettings result_;
  std::vector<std::string> problems_;
  std::size_t left_out_ = 0;
};

}  // namespace

std::string environment_name(std::string_view key) {
  std::string name(kEnvironmentPrefix);
  for (char c : key) name += c == '.' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

std::vector<std::pair<std::string, std::string>> weir_environment() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (text.starts_with(kEnvironmentPrefix) && equals != std::string_view::npos) {
      found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  std::ranges::sort(found);
  return found;
}

Result<FileText> read_config_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(ErrorCode::kNotFound, fmt::format("configuration file {} cannot be opened", path));
  std::string text(kMaxConfigFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  // A folder opens, and fails here.
  if (file.bad() || (file.fail() && !file.eof())) {
    return fail(ErrorCode::kInvalid, fmt::format("configuration file {} cannot be read", path));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxConfigFileBytes) {
    return fail(ErrorCode::kInvalid, fmt::format("configuration file {} is greater than {} bytes",
                                                 path, kMaxConfigFileBytes));
  }
  return FileText{.name = path, .text = std::move(text)};
}

Result<StaticSettings> merge_sources(const Sources& sources) {
  Merger merger;
  if (sources.file) merger.add_file(*sources.file);
  for (const auto& [name, value] : sources.environment) merger.add_environment(name, value);
  for (const std::string& assignment : sources.sets) merger.add_set(assignment);
  return merger.take();
}

}  // namespace weir::config

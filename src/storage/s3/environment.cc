#include "storage/s3/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace weir::storage::s3 {
namespace {

constexpr std::size_t kMaxFile = 1 << 20;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// "[profile name]" → "name"; nothing: the section is none of a profile.
std::optional<std::string> section_name(std::string_view line, bool is_config) {
  line = trim(line.substr(1, std::min(line.find(']'), line.size()) - 1));
  if (!is_config || line == "default") return std::string(line);
  constexpr std::string_view kPrefix = "profile";
  if (!line.starts_with(kPrefix)) return std::nullopt;
  return std::string(trim(line.substr(kPrefix.size())));
}

std::string file_path(const Environment& environment, const char* variable, const char* name) {
  if (auto path = environment(variable)) return *path;
  return environment("HOME").value_or("") + "/.aws/" + name;
}

Profiles read_profiles(const std::string& path, bool is_config) {
  auto text = read_small_file(path);
  return text ? parse_profiles(*text, is_config) : Profiles();
}

}  // namespace

Environment system_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

Result<std::string> read_small_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) return fail(ErrorCode::kUnavailable, "cannot read " + path);
  if (text.size() > kMaxFile) return fail(ErrorCode::kInvalid, path + " is too large");
  return text;
}

Profiles parse_profiles(std::string_view text, bool is_config) {
  Profiles out;
  Profile* section = nullptr;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      auto name = section_name(line, is_config);
      section = name ? &out[*name] : nullptr;
      continue;
    }
    // Lines that are indented belong to a setting that has settings of its own.
    std::size_t equals = line.find('=');
    bool is_setting = equals != std::string_view::npos && line[0] != ' ' && line[0] != '\t';
    if (section == nullptr || !is_setting) continue;
    (*section)[std::string(trim(line.substr(0, equals)))] = trim(line.substr(equals + 1));
  }
  return out;
}

Result<std::optional<Profile>> read_profile(const Environment& environment,
                                            const std::optional<std::string>& name) {
  std::optional<std::string> named = name ? name : environment("AWS_PROFILE");
  const std::string wanted = named.value_or("default");
  const std::string keys = file_path(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const std::string config = file_path(environment, "AWS_CONFIG_FILE", "config");
  Profiles first = read_profiles(keys, false);
  Profiles second = read_profiles(config, true);
  if (!first.contains(wanted) && !second.contains(wanted)) {
    if (!named) return std::nullopt;
    return fail(ErrorCode::kInvalid,
                fmt::format("there is no profile '{}' in {} or {}", wanted, keys, config));
  }
  Profile profile = std::move(first[wanted]);
  profile.merge(second[wanted]);
  return profile;
}

Result<std::optional<std::string>> find_region(const Environment& environment,
                                               const std::optional<std::string>& profile) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = environment(name)) return region;
  }
  WEIR_TRY(std::optional<Profile> found, read_profile(environment, profile));
  if (!found || !found->contains("region")) return std::nullopt;
  return found->find("region")->second;
}

}  // namespace weir::storage::s3

#include "config/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace weir::config {
namespace {

// Edits between two texts: a character put in, taken out or changed.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const ConfigKey> keys(Scope scope) {
  switch (scope) {
    case Scope::kTopic:
      return detail::kTables.topic;
    case Scope::kBroker:
      return detail::kTables.broker;
    case Scope::kGroup:
      return detail::kTables.group;
  }
  return {};
}

const ConfigKey* find_key(Scope scope, std::string_view name) {
  const auto all = keys(scope);
  const auto found = std::ranges::lower_bound(all, name, {}, &ConfigKey::name);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

bool is_ignored_key(std::string_view name) {
  return std::ranges::any_of(detail::kTables.ignored, [&](std::string_view pattern) {
    if (!pattern.ends_with('*')) return name == pattern;
    pattern.remove_suffix(1);
    return name.size() > pattern.size() && name.starts_with(pattern);
  });
}

std::string suggestion(Scope scope, std::string_view name) {
  // A long name is no slip of the fingers; its distances would cost time.
  constexpr std::size_t kLongestName = 100;
  if (name.size() > kLongestName) return "";
  if (scope == Scope::kBroker) {
    const ConfigKey* topic = find_key(Scope::kTopic, name);
    if (topic != nullptr && !topic->sources.empty()) {
      return fmt::format(" (for all topics it is {})", topic->sources.front().name);
    }
  }
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 4) + 1;
  for (const ConfigKey& key : keys(scope)) {
    // Each character that one has more is an edit.
    const auto [shorter, longer] = std::minmax({name.size(), key.name.size()});
    if (longer - shorter >= best_distance) continue;
    const std::size_t d = distance(name, key.name);
    if (d < best_distance) {
      best = key.name;
      best_distance = d;
    }
  }
  return best.empty() ? "" : fmt::format(" (did you mean {}?)", best);
}

std::string_view to_string(ValueType type) {
  switch (type) {
    case ValueType::kBoolean:
      return "BOOLEAN";
    case ValueType::kString:
      return "STRING";
    case ValueType::kInt:
      return "INT";
    case ValueType::kShort:
      return "SHORT";
    case ValueType::kLong:
      return "LONG";
    case ValueType::kDouble:
      return "DOUBLE";
    case ValueType::kList:
      return "LIST";
    case ValueType::kClass:
      return "CLASS";
    case ValueType::kPassword:
      return "PASSWORD";
  }
  return "UNKNOWN";
}

}  // namespace weir::config

#include "config/group_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::config {
namespace {

// "consumer.session.timeout.ms" and "min" → "group.consumer.min.session.timeout.ms".
std::string bound_name(std::string_view key, std::string_view bound) {
  const auto dot = key.find('.');
  std::string_view rest = key.substr(dot + 1);
  if (rest.starts_with("num.")) rest.remove_prefix(4);
  return fmt::format("group.{}.{}.{}", key.substr(0, dot), bound, rest);
}

Checked<void> check_bounds(const ConfigKey& key, const Value& value, const BrokerLayers& broker) {
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) return {};
  const std::string min_name = bound_name(key.name, "min");
  if (find_key(Scope::kBroker, min_name) != nullptr && *number < broker_number(broker, min_name)) {
    return invalid_config(fmt::format("{}: {} must be at least {} ({})", key.name, *number,
                                      broker_number(broker, min_name), min_name));
  }
  const std::string max_name = bound_name(key.name, "max");
  if (find_key(Scope::kBroker, max_name) != nullptr && *number > broker_number(broker, max_name)) {
    return invalid_config(fmt::format("{}: {} must be at most {} ({})", key.name, *number,
                                      broker_number(broker, max_name), max_name));
  }
  return {};
}

Checked<void> check_assignor(const Value& value, const BrokerLayers& broker) {
  const auto& name = std::get<std::string>(value);
  const List known = broker_list(broker, "group.streams.assignors");
  if (std::ranges::find(known, name) != known.end()) return {};
  return invalid_config(
      fmt::format("streams.assignor.name: {} must be one of {}", name, fmt::join(known, ", ")));
}

// A member must have time for more than one heartbeat.
Checked<void> check_heartbeat(std::string_view kind, const Settings& overrides,
                              const BrokerLayers& broker) {
  auto number = [&](std::string_view rest) {
    const ConfigKey* key = find_key(Scope::kGroup, fmt::format("{}.{}", kind, rest));
    return std::get<std::int64_t>(*group_value(*key, overrides, broker));
  };
  const std::int64_t heartbeat = number("heartbeat.interval.ms");
  const std::int64_t session = number("session.timeout.ms");
  if (heartbeat < session) return {};
  return invalid_config(
      fmt::format("{}.heartbeat.interval.ms ({}) must be less than {}.session.timeout.ms ({})",
                  kind, heartbeat, kind, session));
}

}  // namespace

std::optional<Value> group_value(const ConfigKey& key, const Settings& overrides,
                                 const BrokerLayers& broker) {
  if (const auto found = overrides.find(key.name); found != overrides.end()) {
    if (auto value = parse_value(key, found->second)) return *std::move(value);
  }
  for (const DefaultSource& source : key.sources) {
    auto value = broker_value(broker, source.name);
    if (!value) continue;
    // The default of one assignor is the first of the broker's list.
    if (const auto* list = std::get_if<List>(&*value);
        list != nullptr && key.type != ValueType::kList) {
      return list->empty() ? std::nullopt : std::optional<Value>(list->front());
    }
    return value;
  }
  if (key.default_kind != DefaultKind::kText) return std::nullopt;
  auto value = parse_value(key, key.default_text);
  return value ? std::optional(*std::move(value)) : std::nullopt;
}

Checked<void> validate_group_configs(const Settings& overrides, const BrokerLayers& broker) {
  for (const auto& [name, text] : overrides) {
    const ConfigKey* key = find_key(Scope::kGroup, name);
    if (key == nullptr) {
      return invalid_config(
          fmt::format("Unknown group configuration {}{}", name, suggestion(Scope::kGroup, name)));
    }
    const auto value = parse_value(*key, text);
    if (!value) return invalid_config(value.error().message);
    if (auto ok = check_bounds(*key, *value, broker); !ok) return ok;
    if (name == "streams.assignor.name") {
      if (auto ok = check_assignor(*value, broker); !ok) return ok;
    }
  }
  for (std::string_view kind : {"consumer", "share", "streams"}) {
    if (auto ok = check_heartbeat(kind, overrides, broker); !ok) return ok;
  }
  return {};
}

}  // namespace weir::config

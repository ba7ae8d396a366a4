#include "config/alter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weir::config {
namespace {

std::string alter_list(const ConfigKey& key, const Settings& current, AlterOp op,
                       std::string_view value) {
  const auto found = current.find(key.name);
  List list =
      split_list(found != current.end() ? std::string_view(found->second) : key.default_text);
  for (const std::string& element : split_list(value)) {
    const auto place = std::ranges::find(list, element);
    if (op == AlterOp::kSubtract && place != list.end()) {
      list.erase(place);
    } else if (op == AlterOp::kAppend && place == list.end()) {
      list.push_back(element);
    }
  }
  return to_text(list);
}

Checked<void> apply(Scope scope, Settings& settings, const Alteration& alteration) {
  const auto& [name, op, value] = alteration;
  if (op == AlterOp::kDelete) {
    settings.erase(name);
    return {};
  }
  if (!value) return invalid_request(fmt::format("{}: the value must not be null", name));
  if (op == AlterOp::kSet) {
    settings.insert_or_assign(name, *value);
    return {};
  }
  const ConfigKey* key = find_key(scope, name);
  if (key == nullptr) {
    return invalid_config(fmt::format("Unknown configuration {}{}", name, suggestion(scope, name)));
  }
  if (key->type != ValueType::kList) {
    return invalid_config(fmt::format("{}: {} is for lists, and this is of the type {}", name,
                                      op == AlterOp::kAppend ? "APPEND" : "SUBTRACT",
                                      to_string(key->type)));
  }
  settings.insert_or_assign(name, alter_list(*key, settings, op, *value));
  return {};
}

Checked<void> check_dynamic_key(DynamicTarget target, const std::string& name,
                                const std::string& text) {
  const ConfigKey* key = find_key(Scope::kBroker, name);
  if (key == nullptr) {
    return invalid_config(
        fmt::format("Unknown broker configuration {}{}", name, suggestion(Scope::kBroker, name)));
  }
  if (key->update == Update::kStatic) {
    return invalid_request(
        fmt::format("{} cannot be changed while brokers run: set it in their configuration and "
                    "restart them",
                    name));
  }
  if (key->update == Update::kPerBroker && target == DynamicTarget::kClusterDefault) {
    return invalid_request(fmt::format("{} can be set for one broker only, not for all", name));
  }
  if (auto value = parse_value(*key, text); !value) return invalid_request(value.error().message);
  return {};
}

}  // namespace

Checked<Settings> apply_alterations(Scope scope, const Settings& current,
                                    std::span<const Alteration> alterations) {
  Settings settings = current;
  std::set<std::string_view> seen;
  for (const Alteration& alteration : alterations) {
    if (!seen.insert(alteration.name).second) {
      return invalid_request(fmt::format("{} is there twice", alteration.name));
    }
    const auto op = static_cast<std::int8_t>(alteration.op);
    if (op < 0 || op > static_cast<std::int8_t>(AlterOp::kSubtract)) {
      return invalid_request(
          fmt::format("{}: operation {} must be from 0 to 3", alteration.name, op));
    }
    if (auto ok = apply(scope, settings, alteration); !ok) return std::unexpected(ok.error());
  }
  return settings;
}

Checked<void> validate_dynamic_configs(DynamicTarget target, const Settings& proposed,
                                       const BrokerLayers& layers, const Machine& machine,
                                       Permissions permissions) {
  for (const auto& [name, text] : proposed) {
    if (auto ok = check_dynamic_key(target, name, text); !ok) return ok;
  }
  BrokerLayers changed = layers;
  (target == DynamicTarget::kBroker ? changed.dynamic_broker : changed.dynamic_default) = proposed;
  if (auto config = make_broker_config(changed, machine, permissions); !config) {
    return invalid_request(config.error().message);
  }
  return {};
}

}  // namespace weir::config

#include "config/layers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace weir::config {
namespace {

// For names that only this program gives.
[[noreturn]] void bug(std::string_view what, std::string_view name) {
  fmt::print(stderr, "bug: {} broker configuration {}\n", what, name);
  std::abort();
}

const ConfigKey& broker_key(std::string_view name) {
  const ConfigKey* key = find_key(Scope::kBroker, name);
  if (key == nullptr) bug("no", name);
  return *key;
}

template <typename T>
T broker_value_of(const BrokerLayers& layers, std::string_view name) {
  auto value = broker_value(layers, name);
  if (!value || !std::holds_alternative<T>(*value)) bug("another type or null for the", name);
  return std::get<T>(*std::move(value));
}

// metadata.log.url: the log lies in the object store.
constexpr std::string_view kLogInStore = "object:";

bool is_embedded_url(std::string_view url) {
  return is_memory_url(url) || url.starts_with("sqlite:");
}

}  // namespace

bool is_memory_url(std::string_view url) { return url.starts_with("memory:"); }

Machine this_machine() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
    return {.host_name = "localhost", .cores = std::max(1U, std::thread::hardware_concurrency())};
  }
  return {.host_name = name.data(), .cores = std::max(1U, std::thread::hardware_concurrency())};
}

Result<BrokerLayers> make_layers(StaticSettings fixed, const Machine& machine) {
  BrokerLayers layers;
  layers.fixed = std::move(fixed);
  auto& values = layers.fixed.values;
  // As Kafka has it, each of the two names shows what the other was given.
  const auto node = values.find("node.id");
  const auto broker = values.find("broker.id");
  if (node != values.end() && broker == values.end()) {
    values.emplace("broker.id", node->second);
  } else if (node == values.end() && broker != values.end()) {
    values.emplace("node.id", broker->second);
  } else if (node == values.end()) {
    const std::string url = broker_text(layers, "metadata.log.url");
    if (!is_embedded_url(url)) {
      return fail(ErrorCode::kInvalid,
                  "node.id must be set: every broker that shares a metadata log has a number of "
                  "its own, from 0 to 2147483647");
    }
    layers.derived["node.id"] = "1";
  }
  if (broker_text(layers, "metadata.log.url") == kLogInStore) {
    // 3000 and 1000 would cost three brokers 180 PUTs a minute: docs/adr/0013-idle-object-log.md.
    layers.derived["broker.session.timeout.ms"] = "30000";
    layers.derived["broker.heartbeat.interval.ms"] = "20000";
  }
  layers.derived["num.network.threads"] = std::to_string(machine.cores);
  layers.derived["cache.max.bytes"] =
      std::to_string(broker_number(layers, "memory.budget.bytes") / 2);
  return layers;
}

std::optional<std::string_view> default_text(const BrokerLayers& layers, const ConfigKey& key) {
  if (const auto derived = layers.derived.find(key.name); derived != layers.derived.end()) {
    return derived->second;
  }
  if (key.default_kind != DefaultKind::kText) return std::nullopt;
  return key.default_text;
}

std::optional<std::string_view> effective_text(const BrokerLayers& layers, const ConfigKey& key) {
  for (const Settings* layer : {&layers.dynamic_broker, &layers.dynamic_default}) {
    const auto setting = layer->find(key.name);
    if (setting != layer->end()) return setting->second;
  }
  const auto fixed = layers.fixed.values.find(key.name);
  if (fixed != layers.fixed.values.end()) return fixed->second.value;
  return default_text(layers, key);
}

std::optional<Value> broker_value(const BrokerLayers& layers, std::string_view name) {
  const ConfigKey& key = broker_key(name);
  if (const auto text = effective_text(layers, key)) {
    if (auto value = parse_value(key, *text)) return *std::move(value);
  }
  // Every layer is checked when it is set; a broker of another release may have set what this one
  // does not take.
  if (const auto text = default_text(layers, key)) {
    if (auto value = parse_value(key, *text)) return *std::move(value);
  }
  return std::nullopt;
}

std::int64_t broker_number(const BrokerLayers& layers, std::string_view name) {
  return broker_value_of<std::int64_t>(layers, name);
}
bool broker_flag(const BrokerLayers& layers, std::string_view name) {
  return broker_value_of<bool>(layers, name);
}
std::string broker_text(const BrokerLayers& layers, std::string_view name) {
  return broker_value_of<std::string>(layers, name);
}
List broker_list(const BrokerLayers& layers, std::string_view name) {
  return broker_value_of<List>(layers, name);
}

}  // namespace weir::config

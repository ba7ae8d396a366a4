#include "config/describe.h"

#include "config/group_config.h"
#include "config/topic_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::config {
namespace {

// Nothing for null and for what must not be seen.
std::optional<std::string> shown(const ConfigKey& key, std::optional<std::string_view> text) {
  return text ? shown_text(key, *text) : std::nullopt;
}
std::optional<std::string> shown_value(const ConfigKey& key, const std::optional<Value>& value) {
  return value ? shown_text(key, to_text(*value)) : std::nullopt;
}

// One layer's text of a key.
std::optional<std::string_view> text_in(const BrokerLayers& layers, ConfigSource source,
                                        const ConfigKey& key) {
  auto in = [&](const Settings& settings) -> std::optional<std::string_view> {
    const auto found = settings.find(key.name);
    if (found == settings.end()) return std::nullopt;
    return found->second;
  };
  switch (source) {
    case ConfigSource::kDynamicBroker:
      return in(layers.dynamic_broker);
    case ConfigSource::kDynamicDefaultBroker:
      return in(layers.dynamic_default);
    case ConfigSource::kStaticBroker: {
      const auto found = layers.fixed.values.find(key.name);
      if (found == layers.fixed.values.end()) return std::nullopt;
      return found->second.value;
    }
    default:
      return default_text(layers, key);
  }
}

// Layer by layer, each name that is set there. Kafka leaves out what comes before the first synonym
// with the name asked for: log.retention.hours alone is no synonym of retention.ms, and its source
// is then a default.
std::vector<ConfigSynonym> broker_synonyms(const BrokerLayers& layers, std::string_view first,
                                           std::span<const DefaultSource> names) {
  std::vector<ConfigSynonym> synonyms;
  for (ConfigSource source : {ConfigSource::kDynamicBroker, ConfigSource::kDynamicDefaultBroker,
                              ConfigSource::kStaticBroker, ConfigSource::kDefault}) {
    for (const DefaultSource& name : names) {
      const ConfigKey* key = find_key(Scope::kBroker, name.name);
      if (const auto text = text_in(layers, source, *key)) {
        synonyms.push_back({.name = key->name, .value = shown(*key, text), .source = source});
      }
    }
  }
  const auto begin = std::ranges::find(synonyms, first, &ConfigSynonym::name);
  synonyms.erase(synonyms.begin(), begin);
  return synonyms;
}

std::vector<ConfigSynonym> broker_synonyms(const BrokerLayers& layers, const ConfigKey& key) {
  const std::array<DefaultSource, 1> itself = {DefaultSource{key.name, 1}};
  return broker_synonyms(
      layers, key.name, key.sources.empty() ? std::span<const DefaultSource>(itself) : key.sources);
}

ConfigEntry make_entry(const ConfigKey& key, std::optional<std::string> value,
                       std::vector<ConfigSynonym> synonyms) {
  return {.key = &key,
          .value = std::move(value),
          .source = synonyms.empty() ? ConfigSource::kDefault : synonyms.front().source,
          .read_only = false,
          .sensitive = key.sensitive(),
          .synonyms = std::move(synonyms)};
}

void put_override(const ConfigKey& key, const Settings& overrides, ConfigSource source,
                  std::vector<ConfigSynonym>& synonyms) {
  const auto found = overrides.find(key.name);
  if (found == overrides.end()) return;
  synonyms.insert(synonyms.begin(),
                  {.name = key.name, .value = shown(key, found->second), .source = source});
}

}  // namespace

std::vector<ConfigEntry> describe_topic(const Settings& overrides, const BrokerLayers& layers) {
  std::vector<ConfigEntry> entries;
  for (const ConfigKey& key : keys(Scope::kTopic)) {
    if (key.internal && !overrides.contains(key.name)) continue;
    std::vector<ConfigSynonym> synonyms;
    if (!key.sources.empty()) {
      synonyms = broker_synonyms(layers, *find_key(Scope::kBroker, key.sources.front().name));
    }
    put_override(key, overrides, ConfigSource::kDynamicTopic, synonyms);
    entries.push_back(make_entry(key, shown_value(key, topic_value(key, overrides, layers)),
                                 std::move(synonyms)));
  }
  return entries;
}

std::vector<ConfigEntry> describe_group(const Settings& overrides, const BrokerLayers& layers) {
  std::vector<ConfigEntry> entries;
  for (const ConfigKey& key : keys(Scope::kGroup)) {
    if (key.internal && !overrides.contains(key.name)) continue;
    std::vector<ConfigSynonym> synonyms;
    if (!key.sources.empty()) {
      synonyms = broker_synonyms(layers, *find_key(Scope::kBroker, key.sources.front().name));
    } else if (key.default_kind == DefaultKind::kText) {
      synonyms.push_back({.name = key.name,
                          .value = shown(key, std::optional(key.default_text)),
                          .source = ConfigSource::kDefault});
    }
    put_override(key, overrides, ConfigSource::kGroup, synonyms);
    entries.push_back(make_entry(key, shown_value(key, group_value(key, overrides, layers)),
                                 std::move(synonyms)));
  }
  return entries;
}

std::vector<ConfigEntry> describe_broker(const BrokerLayers& layers) {
  std::vector<ConfigEntry> entries;
  for (const ConfigKey& key : keys(Scope::kBroker)) {
    auto synonyms = broker_synonyms(layers, key);
    const bool set = std::ranges::any_of(synonyms, [&](const ConfigSynonym& synonym) {
      return synonym.name == key.name && synonym.source != ConfigSource::kDefault;
    });
    if (key.internal && !set) continue;
    ConfigEntry entry =
        make_entry(key, shown_value(key, broker_value(layers, key.name)), std::move(synonyms));
    entry.read_only = key.update == Update::kStatic;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<ConfigEntry> describe_cluster_default(const BrokerLayers& layers) {
  std::vector<ConfigEntry> entries;
  for (const ConfigKey& key : keys(Scope::kBroker)) {
    const auto text = text_in(layers, ConfigSource::kDynamicDefaultBroker, key);
    if (!text) continue;
    std::vector<ConfigSynonym> synonyms;
    synonyms.push_back({.name = key.name,
                        .value = shown(key, text),
                        .source = ConfigSource::kDynamicDefaultBroker});
    entries.push_back(make_entry(key, shown(key, text), std::move(synonyms)));
  }
  return entries;
}

std::string documentation(const ConfigKey& key) {
  if (key.note.empty()) return std::string(key.doc);
  if (key.used) return fmt::format("{} {}", key.doc, key.note);
  return fmt::format("{} No effect in Weir: {}", key.doc, key.note);
}

}  // namespace weir::config

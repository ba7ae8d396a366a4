#include "config/topic_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace weir::config {
namespace {

const ConfigKey& topic_key(std::string_view name) {
  const ConfigKey* key = find_key(Scope::kTopic, name);
  if (key == nullptr) {
    fmt::print(stderr, "bug: no topic configuration {}\n", name);
    std::abort();
  }
  return *key;
}

std::int64_t times(std::int64_t number, std::int64_t factor) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(number, factor, &product) ? INT64_MAX : product;
}

// The value that the broker's keys give: the first of them that is not null.
std::optional<Value> broker_default(const ConfigKey& key, const BrokerLayers& defaults) {
  for (const DefaultSource& source : key.sources) {
    auto value = broker_value(defaults, source.name);
    if (!value) continue;
    if (auto* number = std::get_if<std::int64_t>(&*value)) *number = times(*number, source.factor);
    return value;
  }
  if (key.default_kind != DefaultKind::kText) return std::nullopt;
  auto value = parse_value(key, key.default_text);
  return value ? std::optional(*std::move(value)) : std::nullopt;
}

class TopicReader {
 public:
  TopicReader(const Settings& overrides, const BrokerLayers& defaults)
      : overrides_(&overrides), defaults_(&defaults) {}

  template <typename Number>
  void number(Number& field, std::string_view name) const {
    const auto value = topic_value(topic_key(name), *overrides_, *defaults_);
    field = static_cast<Number>(std::get<std::int64_t>(*value));
  }
  [[nodiscard]] Value value(std::string_view name) const {
    return *topic_value(topic_key(name), *overrides_, *defaults_);
  }

 private:
  const Settings* overrides_;
  const BrokerLayers* defaults_;
};

CompressionType parse_compression(std::string_view name) {
  if (name == "uncompressed") return CompressionType::kUncompressed;
  if (name == "gzip") return CompressionType::kGzip;
  if (name == "snappy") return CompressionType::kSnappy;
  if (name == "lz4") return CompressionType::kLz4;
  if (name == "zstd") return CompressionType::kZstd;
  return CompressionType::kProducer;
}

bool contains(const List& list, std::string_view element) {
  return std::ranges::find(list, element) != list.end();
}

}  // namespace

std::optional<Value> topic_value(const ConfigKey& key, const Settings& overrides,
                                 const BrokerLayers& defaults) {
  if (const auto found = overrides.find(key.name); found != overrides.end()) {
    if (auto value = parse_value(key, found->second)) return *std::move(value);
  }
  auto value = broker_default(key, defaults);
  // Kafka's broker keys take any negative number for "for ever"; the topic's only -1.
  if (value && key.name == "retention.ms" && std::get<std::int64_t>(*value) < 0) {
    value = std::int64_t{-1};
  }
  return value;
}

Checked<void> validate_topic_configs(const Settings& overrides, const BrokerLayers& defaults) {
  for (const auto& [name, text] : overrides) {
    const ConfigKey* key = find_key(Scope::kTopic, name);
    if (key == nullptr) {
      return invalid_config(
          fmt::format("Unknown topic configuration {}{}", name, suggestion(Scope::kTopic, name)));
    }
    if (auto value = parse_value(*key, text); !value) return invalid_config(value.error().message);
  }
  const TopicReader read(overrides, defaults);
  std::int64_t min_lag = 0;
  std::int64_t max_lag = 0;
  read.number(min_lag, "min.compaction.lag.ms");
  read.number(max_lag, "max.compaction.lag.ms");
  if (min_lag > max_lag) {
    return invalid_config(fmt::format(
        "min.compaction.lag.ms ({}) must be at most max.compaction.lag.ms ({})", min_lag, max_lag));
  }
  if (std::get<bool>(read.value("remote.storage.enable"))) {
    return invalid_config(
        "remote.storage.enable must be false: there is no tiered storage, all records are in the "
        "object store from the start");
  }
  return {};
}

TopicConfig make_topic_config(const Settings& overrides, const BrokerLayers& defaults) {
  const TopicReader read(overrides, defaults);
  TopicConfig config;
  const List policies = std::get<List>(read.value("cleanup.policy"));
  config.delete_old = contains(policies, "delete");
  config.compact = contains(policies, "compact");
  read.number(config.retention_ms, "retention.ms");
  read.number(config.retention_bytes, "retention.bytes");
  config.compression = parse_compression(std::get<std::string>(read.value("compression.type")));
  read.number(config.gzip_level, "compression.gzip.level");
  read.number(config.lz4_level, "compression.lz4.level");
  read.number(config.zstd_level, "compression.zstd.level");
  read.number(config.max_message_bytes, "max.message.bytes");
  read.number(config.max_decompressed_message_bytes, "max.decompressed.message.bytes");
  if (std::get<std::string>(read.value("message.timestamp.type")) == "LogAppendTime") {
    config.timestamp_type = TimestampType::kLogAppendTime;
  }
  read.number(config.timestamp_before_max_ms, "message.timestamp.before.max.ms");
  read.number(config.timestamp_after_max_ms, "message.timestamp.after.max.ms");
  read.number(config.delete_retention_ms, "delete.retention.ms");
  read.number(config.min_compaction_lag_ms, "min.compaction.lag.ms");
  read.number(config.max_compaction_lag_ms, "max.compaction.lag.ms");
  config.min_cleanable_dirty_ratio = std::get<double>(read.value("min.cleanable.dirty.ratio"));
  read.number(config.segment_bytes, "segment.bytes");
  return config;
}

}  // namespace weir::config

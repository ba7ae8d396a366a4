// The configuration of a topic: its overrides over the broker's defaults (the log.* keys), checked
// as Kafka checks them, and in types for the code that reads them. Pure functions.
#pragma once
#include "config/layers.h"
#include "config/rejection.h"

#include <cstdint>

namespace weir::config {

enum class CompressionType : std::uint8_t {
  kProducer,  // as the client sent it
  kUncompressed,
  kGzip,
  kSnappy,
  kLz4,
  kZstd,
};

enum class TimestampType : std::uint8_t { kCreateTime, kLogAppendTime };

struct TopicConfig {
  // cleanup.policy; neither: everything is kept.
  bool delete_old = true;
  bool compact = false;
  std::int64_t retention_ms = 0;     // -1: for ever
  std::int64_t retention_bytes = 0;  // negative: no limit

  CompressionType compression = CompressionType::kProducer;
  std::int32_t gzip_level = 0;  // -1: gzip's own default
  std::int32_t lz4_level = 0;
  std::int32_t zstd_level = 0;
  std::int32_t max_message_bytes = 0;
  std::int32_t max_decompressed_message_bytes = 0;

  TimestampType timestamp_type = TimestampType::kCreateTime;
  std::int64_t timestamp_before_max_ms = 0;
  std::int64_t timestamp_after_max_ms = 0;

  std::int64_t delete_retention_ms = 0;
  std::int64_t min_compaction_lag_ms = 0;
  std::int64_t max_compaction_lag_ms = 0;
  double min_cleanable_dirty_ratio = 0;
  std::int32_t segment_bytes = 0;
};

// INVALID_CONFIG: a key that no topic has, a value that its key does not take, or values that do
// not go together.
[[nodiscard]] Checked<void> validate_topic_configs(const Settings& overrides,
                                                   const BrokerLayers& defaults);

// Overrides that are not valid (from a broker of another release) count as not set.
[[nodiscard]] TopicConfig make_topic_config(const Settings& overrides,
                                            const BrokerLayers& defaults);

// The value of one topic key; nothing for null.
[[nodiscard]] std::optional<Value> topic_value(const ConfigKey& key, const Settings& overrides,
                                               const BrokerLayers& defaults);

}  // namespace weir::config

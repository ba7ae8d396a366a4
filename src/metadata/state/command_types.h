// Enumerations inside commands. The numbers are part of the log's format.
#pragma once
#include <cstdint>

namespace weir::metadata {

// The numbers of the Kafka protocol.
enum class ConfigResourceType : std::int8_t {
  kTopic = 2,
  kBroker = 4,
  kClientMetrics = 16,
  kGroup = 32,
};

enum class TrimReason : std::int8_t { kDeleteRecords = 0, kRetention = 1 };

}  // namespace weir::metadata

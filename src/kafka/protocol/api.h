// The APIs of the Kafka protocol: key, name, versions. The table is generated from the schemas; it
// holds every API that a client may send to a broker, served or not, and Weir's own between
// brokers. Values, thread-agnostic.
#pragma once
#include "kafka/protocol/message.h"
#include "kafka/protocol/messages/api_key.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weir::kafka {

struct VersionRange {
  std::int16_t min;
  std::int16_t max;
  [[nodiscard]] bool has(std::int16_t version) const { return version >= min && version <= max; }
};

struct ApiInfo {
  ApiKey key;
  std::string_view name;
  VersionRange versions;               // that the codec knows
  std::int16_t flexible_from;          // kNeverFlexible: no version is
  std::optional<VersionRange> served;  // that the broker answers
  // The first version in ApiVersions; KAFKA-18659 wants one below served for Produce. Nothing: not
  // named there, for it is between brokers.
  std::optional<std::int16_t> advertised_from;

  [[nodiscard]] bool is_flexible(std::int16_t version) const { return version >= flexible_from; }
  // The versions of the headers around a body: 1 or 2 for requests, 0 or 1 for responses. The
  // response to ApiVersions has header 0 in every version, since its sender may not know yet what
  // the client understands (KIP-511).
  [[nodiscard]] std::int16_t request_header_version(std::int16_t version) const {
    return is_flexible(version) ? 2 : 1;
  }
  [[nodiscard]] std::int16_t response_header_version(std::int16_t version) const {
    return is_flexible(version) && key != ApiKey::kApiVersions ? 1 : 0;
  }
};

// All APIs in the order of their keys.
[[nodiscard]] std::span<const ApiInfo> all_apis();

// The API with this key, or null.
[[nodiscard]] const ApiInfo* find_api(std::int16_t key);
[[nodiscard]] inline const ApiInfo* find_api(ApiKey key) {
  return find_api(static_cast<std::int16_t>(key));
}

// "Fetch", or "?" for a key that is no API.
[[nodiscard]] std::string_view to_string(ApiKey key);

}  // namespace weir::kafka

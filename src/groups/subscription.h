// The metadata that consumers send when they join: read only as far as the topics, and only to see
// whether a topic is in use. Other kinds of group (Connect, Schema Registry) have metadata of their
// own, which stays opaque.
#pragma once
#include "base/bytes.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::groups {

constexpr std::string_view kConsumerProtocolType = "consumer";

// The topics of a consumer's subscription (ConsumerProtocolSubscription: version, topics, …);
// nothing when it is none.
[[nodiscard]] std::optional<std::vector<std::string>> subscribed_topics_of(Bytes metadata);

}  // namespace weir::groups

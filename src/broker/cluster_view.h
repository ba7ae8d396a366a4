// What answers say about brokers and leaders, from the cluster image and the listener that a client
// came in by.
//
// This version runs one broker per cluster: it leads every partition and coordinates every group.
#pragma once
#include "broker/broker.h"
#include "metadata/state/image.h"

#include <optional>
#include <string>

namespace weir::broker {

// Every operation that Kafka knows for a resource, as a bit field (KIP-430): without an authorizer
// all are allowed.
constexpr std::int32_t kAllTopicOperations = 0x0DF8;
constexpr std::int32_t kAllGroupOperations = 0x0D48;
constexpr std::int32_t kAllClusterOperations = 0x1FA0;
constexpr std::int32_t kOperationsNotAsked = INT32_MIN;

// Where a client of `listener` reaches a broker; null when the broker has no such listener.
[[nodiscard]] const metadata::Endpoint* endpoint_of(const metadata::BrokerImage& broker,
                                                    const std::string& listener);

// This broker in the image; null until its registration is applied.
[[nodiscard]] const metadata::BrokerImage* self_in(const Broker& broker,
                                                   const metadata::ClusterImage& image);

[[nodiscard]] BrokerId leader_of(const Broker& broker, const TopicPartition& partition);

[[nodiscard]] std::optional<std::string> rack_of(const metadata::BrokerImage& broker);

}  // namespace weir::broker

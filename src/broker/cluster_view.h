// What answers say about brokers and leaders, from the cluster image, the listener that a client
// came in by, and its zone.
#pragma once
#include "broker/api.h"
#include "broker/broker.h"
#include "broker/routing.h"
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

// Where this client is sent. `rack`: what the request says of its zone, if it has a field for it.
[[nodiscard]] Routing routing_for(const Broker& broker, const RequestContext& context,
                                  const metadata::ClusterImage& image, std::string_view rack = {});

// A live broker to name as the controller: any takes every admin request, this one for choice.
[[nodiscard]] BrokerId controller_of(const Broker& broker, const metadata::ClusterImage& image);

[[nodiscard]] std::optional<std::string> rack_of(const metadata::BrokerImage& broker);

}  // namespace weir::broker

#include "broker/cluster_view.h"

#include "broker/client_zone.h"
#include "broker/configs.h"

namespace weir::broker {

const metadata::Endpoint* endpoint_of(const metadata::BrokerImage& broker,
                                      const std::string& listener) {
  auto at = std::ranges::find(broker.endpoints, listener, &metadata::Endpoint::listener);
  return at == broker.endpoints.end() ? nullptr : &*at;
}

Routing routing_for(const Broker& broker, const RequestContext& context,
                    const metadata::ClusterImage& image, std::string_view rack) {
  auto configs = broker.configs.current(context.client.core);
  return {image, context.client.listener,
          zone_of_client(configs->broker.zones, {.rack = rack,
                                                 .client_id = context.header.client_id.value_or(""),
                                                 .listener = context.client.listener,
                                                 .address = context.client.peer_address})};
}

BrokerId controller_of(const Broker& broker, const metadata::ClusterImage& image) {
  bool is_live = image.brokers.contains(broker.node_id) || image.brokers.empty();
  return is_live ? broker.node_id : image.brokers.begin()->first;
}

std::optional<std::string> rack_of(const metadata::BrokerImage& broker) {
  if (broker.rack.empty()) return std::nullopt;
  return broker.rack;
}

}  // namespace weir::broker

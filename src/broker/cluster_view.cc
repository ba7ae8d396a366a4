#include "broker/cluster_view.h"

namespace weir::broker {

const metadata::Endpoint* endpoint_of(const metadata::BrokerImage& broker,
                                      const std::string& listener) {
  auto at = std::ranges::find(broker.endpoints, listener, &metadata::Endpoint::listener);
  return at == broker.endpoints.end() ? nullptr : &*at;
}

const metadata::BrokerImage* self_in(const Broker& broker, const metadata::ClusterImage& image) {
  auto at = image.brokers.find(broker.node_id);
  return at == image.brokers.end() ? nullptr : &at->second;
}

BrokerId leader_of(const Broker& broker, const TopicPartition&) { return broker.node_id; }

std::optional<std::string> rack_of(const metadata::BrokerImage& broker) {
  if (broker.rack.empty()) return std::nullopt;
  return broker.rack;
}

}  // namespace weir::broker

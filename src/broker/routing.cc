#include "broker/routing.h"

#include "base/rendezvous.h"
#include "broker/cluster_view.h"

namespace weir::broker {
namespace {

std::vector<BrokerId> spread(const metadata::TopicImage& topic,
                             const std::vector<BrokerId>& brokers) {
  return rendezvous_spread(rendezvous_key(topic.id), topic.partitions.size(), brokers);
}

}  // namespace

Routing::Routing(const metadata::ClusterImage& image, const std::string& listener,
                 std::string_view zone) {
  std::vector<BrokerId> all;
  for (const auto& [id, broker] : image.brokers) {
    if (endpoint_of(broker, listener) == nullptr) continue;
    zones_[broker.rack].push_back(id);
    zone_of_[id] = broker.rack;
    all.push_back(id);
  }
  auto own = zone.empty() ? zones_.end() : zones_.find(zone);
  has_zone_ = own != zones_.end();
  home_ = has_zone_ ? own->second : std::move(all);
}

std::vector<BrokerId> Routing::leaders(const metadata::TopicImage& topic) const {
  return spread(topic, home_);
}

std::vector<Placement> Routing::place(const metadata::TopicImage& topic) const {
  std::vector<Placement> out;
  for (BrokerId leader : leaders(topic)) out.push_back({.leader = leader, .replicas = {leader}});
  if (out.empty()) return out;
  for (const auto& [zone, brokers] : zones_) {
    std::vector<BrokerId> chosen = spread(topic, brokers);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (zone_of_.at(out[i].leader) != zone) out[i].replicas.push_back(chosen[i]);
    }
  }
  return out;
}

}  // namespace weir::broker

// Which broker a client is sent to (docs/architecture.md, "Routing"): for each partition a leader
// of the client's zone and, as replicas, one broker of every other zone. Every broker serves every
// partition; the answer only spreads the load and keeps traffic within a zone. It follows from the
// live brokers, the topic and the client's zone alone, so all brokers answer the same, and it
// changes only with the live brokers: their membership number is the leader epoch.
//
// Plain values over one cluster image; any thread.
#pragma once
#include "metadata/state/image.h"

#include <map>
#include <string>
#include <vector>

namespace weir::broker {

struct Placement {
  BrokerId leader = -1;
  std::vector<BrokerId> replicas;  // the leader first, then in order of their zones' names
};

class Routing {
 public:
  // For clients of `zone` that came in by `listener`: brokers that they cannot reach by it do not
  // count. A zone without brokers, and an unknown one (empty), is served by all.
  Routing(const metadata::ClusterImage& image, const std::string& listener, std::string_view zone);

  // False: no live broker has the listener.
  [[nodiscard]] bool has_brokers() const { return !zones_.empty(); }
  // Whether the client's zone has brokers of its own.
  [[nodiscard]] bool has_zone() const { return has_zone_; }
  // Of each partition; empty when there are no brokers.
  [[nodiscard]] std::vector<Placement> place(const metadata::TopicImage& topic) const;
  // The leaders alone.
  [[nodiscard]] std::vector<BrokerId> leaders(const metadata::TopicImage& topic) const;

 private:
  // The brokers of each zone, in order of their ids; the zone's name is empty where brokers have
  // none.
  std::map<std::string, std::vector<BrokerId>, std::less<>> zones_;
  std::map<BrokerId, std::string> zone_of_;
  std::vector<BrokerId> home_;  // where leaders are taken from
  bool has_zone_ = false;
};

}  // namespace weir::broker

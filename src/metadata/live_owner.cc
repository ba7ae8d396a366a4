#include "metadata/live_owner.h"

#include "base/rendezvous.h"

namespace weir::metadata {

std::optional<BrokerId> live_owner(const ClusterImage& image, std::string_view name) {
  std::vector<BrokerId> live;
  live.reserve(image.brokers.size());
  for (const auto& [id, broker] : image.brokers) live.push_back(id);
  return rendezvous_owner(rendezvous_key(name), live);
}

}  // namespace weir::metadata

#include "metadata/listeners.h"

#include <algorithm>

namespace weir::metadata {

void tell_listeners(std::span<CommitListener* const> listeners, const Changes& changes) {
  if (listeners.empty()) return;
  std::vector<TopicPartition> partitions;
  partitions.reserve(changes.partitions.size());
  for (const Changes::Partition& partition : changes.partitions)
    partitions.push_back(partition.name);
  std::vector<std::string> groups = changes.groups;
  std::ranges::sort(groups);
  groups.erase(std::ranges::unique(groups).begin(), groups.end());
  for (CommitListener* listener : listeners) {
    if (!partitions.empty()) listener->on_partitions_advanced(partitions);
    if (changes.image) listener->on_image_changed();
    if (!groups.empty()) listener->on_groups_changed(groups);
  }
}

}  // namespace weir::metadata

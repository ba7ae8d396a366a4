#include "metadata/state/published_state.h"

#include <algorithm>

namespace weir::metadata {

std::shared_ptr<const GroupImage> PublishedState::group(const std::string& id) const {
  const Shard& shard = shards_[shard_of(id)];
  std::lock_guard lock(shard.mutex);
  auto found = shard.groups.find(id);
  return found == shard.groups.end() ? nullptr : found->second;
}

std::vector<std::string> PublishedState::group_ids() const {
  std::vector<std::string> ids;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (const auto& [id, group] : shard.groups) ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

void PublishedState::set_group(const std::string& id, std::shared_ptr<const GroupImage> group) {
  Shard& shard = shards_[shard_of(id)];
  std::lock_guard lock(shard.mutex);
  if (group == nullptr) {
    shard.groups.erase(id);
  } else {
    // Swapped: the old image is freed after the lock.
    shard.groups[id].swap(group);
  }
}

void PublishedState::clear_groups() {
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    shard.groups.clear();
  }
}

}  // namespace weir::metadata

#include "fetch/waiters.h"

#include "base/planted.h"

namespace weir::fetch {

Waiters::Waiters(std::size_t cores) {
  for (std::size_t i = 0; i < cores; ++i) cores_.push_back(std::make_unique<Core>());
}

Waiters::Enlisted::Enlisted(Waiters& owner, std::size_t core,
                            std::vector<TopicPartition> partitions, OneShot<bool> woken)
    : owner_(owner), core_(core), partitions_(std::move(partitions)), woken_(std::move(woken)) {
  Core& list = *owner_.cores_[core_];
  std::lock_guard lock(list.mutex);
  for (const TopicPartition& partition : partitions_) list.by_partition.emplace(partition, this);
}

Waiters::Enlisted::~Enlisted() {
  Core& list = *owner_.cores_[core_];
  std::lock_guard lock(list.mutex);
  for (const TopicPartition& partition : partitions_) {
    auto [at, end] = list.by_partition.equal_range(partition);
    while (at != end) at = at->second == this ? list.by_partition.erase(at) : std::next(at);
  }
}

void Waiters::on_partitions_advanced(std::span<const TopicPartition> partitions) {
  if (planted(Bug::kWakeUpLost)) return;
  for (const auto& core : cores_) {
    std::lock_guard lock(core->mutex);
    if (core->by_partition.empty()) continue;
    for (const TopicPartition& partition : partitions) {
      auto [at, end] = core->by_partition.equal_range(partition);
      for (; at != end; ++at) at->second->woken_.set(true);
    }
  }
}

void Waiters::wake_all() {
  for (const auto& core : cores_) {
    std::lock_guard lock(core->mutex);
    for (const auto& [partition, enlisted] : core->by_partition) enlisted->woken_.set(true);
  }
}

std::size_t Waiters::waiting() const {
  std::size_t total = 0;
  for (const auto& core : cores_) {
    std::lock_guard lock(core->mutex);
    total += core->by_partition.size();
  }
  return total;
}

}  // namespace weir::fetch

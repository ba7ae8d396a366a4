#include "metadata/state/frozen_state.h"

namespace weir::metadata {

FrozenState freeze(const State& state) {
  const Tables& tables = state.tables();
  FrozenState frozen{.position = state.position(),
                     .chain_hash = state.chain().hash(),
                     .cluster_id = tables.cluster_id,
                     .time = tables.time,
                     .next_producer_id = tables.next_producer_id,
                     .membership = tables.membership,
                     .features = tables.features,
                     .brokers = tables.brokers,
                     .configs = tables.configs,
                     .topics = tables.topics.by_id(),
                     .objects = tables.objects.objects(),
                     .groups = tables.groups.groups()};
  std::uint64_t sum = tables.hash_without_partitions();
  frozen.partitions.reserve(tables.topics.partition_count());
  for (const auto& [id, topic] : tables.topics.topics()) {
    PartitionIndex index = 0;
    for (const PartitionState& partition : topic.partitions) {
      sum += partition.hash();
      frozen.partitions.push_back({.name = {id, index++},
                                   .name_hash = partition.name_hash(),
                                   .changed = partition.changed(),
                                   .log_start = partition.log_start(),
                                   .high_watermark = partition.high_watermark(),
                                   .extents = partition.extents(),
                                   .producers = partition.producers()});
    }
  }
  frozen.state_hash = sum;
  return frozen;
}

}  // namespace weir::metadata

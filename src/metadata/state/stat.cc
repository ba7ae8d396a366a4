#include "metadata/state/stat.h"

#include "kafka/protocol/json_writer.h"

#include <fmt/format.h>

namespace weir::metadata {

MetadataStat stat_of(const State& state) {
  const Tables& tables = state.tables();
  MetadataStat stat{.position = state.position(),
                    .chain_hash = state.chain().hash(),
                    .state_hash = state.hash(),
                    .cluster_id = tables.cluster_id,
                    .time = tables.time,
                    .topics = tables.topics.topics().size(),
                    .partitions = tables.topics.partition_count(),
                    .objects = tables.objects.objects().size(),
                    .deletable_objects = tables.objects.deletable_count(),
                    .groups = tables.groups.groups().size()};
  for (const auto& [id, broker] : tables.brokers) stat.brokers += broker.fenced ? 0 : 1;
  for (const auto& [id, topic] : tables.topics.topics()) {
    for (const PartitionState& partition : topic.partitions) {
      stat.extents += partition.extents().size();
      stat.producers += partition.producers().size();
      stat.live_bytes += partition.live_bytes();
    }
  }
  tables.groups.groups().for_each(
      [&](const std::string&, const std::shared_ptr<const GroupImage>& group) {
        stat.committed_offsets += group->offsets.size();
      });
  return stat;
}

std::string to_json(const MetadataStat& stat) {
  kafka::JsonWriter out;
  auto number = [&](const char* name, auto value) {
    out.key(name);
    out.number(static_cast<std::int64_t>(value));
  };
  auto hash = [&](const char* name, std::uint64_t value) {
    out.key(name);
    out.string(fmt::format("{:016x}", value));
  };
  out.begin_object();
  number("position", stat.position);
  hash("chain_hash", stat.chain_hash);
  hash("state_hash", stat.state_hash);
  out.key("cluster_id");
  out.uuid(stat.cluster_id);
  number("time", stat.time);
  number("brokers", stat.brokers);
  number("topics", stat.topics);
  number("partitions", stat.partitions);
  number("extents", stat.extents);
  number("producers", stat.producers);
  number("live_bytes", stat.live_bytes);
  number("objects", stat.objects);
  number("deletable_objects", stat.deletable_objects);
  number("groups", stat.groups);
  number("committed_offsets", stat.committed_offsets);
  out.end_object();
  return out.release();
}

}  // namespace weir::metadata

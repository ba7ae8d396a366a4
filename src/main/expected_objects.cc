#include "main/expected_objects.h"

#include <fmt/format.h>

namespace weir {

std::string ExpectedObjects::name_of(const std::vector<PlacedExtent>& extents) const {
  std::string out;
  for (const auto& [partition, extent] : extents) {
    out += fmt::format("{}{}-{} ", out.empty() ? "" : ", ", topics.at(partition.topic),
                       partition.partition);
    out += extent.last_offset_delta == 0
               ? fmt::format("offset {}", extent.base_offset)
               : fmt::format("offsets {} to {}", extent.base_offset, extent.last_offset());
  }
  return out;
}

ExpectedObjects expected_objects(const metadata::State& state) {
  ExpectedObjects out{.cluster = state.tables().cluster_id, .objects = {}, .topics = {}};
  state.tables().objects.objects().for_each(
      [&](const metadata::ObjectId& id, const metadata::ObjectState& object) {
        out.objects[id] = {.size = object.size, .counted = object.live_extents, .extents = {}};
      });
  for (const auto& [id, topic] : state.tables().topics.topics()) {
    out.topics[id] = topic.image->name;
    for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
      const metadata::ExtentsView& extents = topic.partitions[i].extents();
      for (std::size_t n = 0; n < extents.size(); ++n) {
        const metadata::Extent extent = extents[n];
        out.objects[extent.object].extents.push_back(
            {.partition = {id, static_cast<PartitionIndex>(i)}, .extent = extent});
      }
    }
  }
  return out;
}

}  // namespace weir

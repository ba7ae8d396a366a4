#include "fetch/read_plan.h"

namespace weir::fetch {

ByteCount available_bytes(const metadata::PartitionView& view, Offset offset, ByteCount limit) {
  ByteCount bytes = 0;
  for (std::size_t i = view.extents.find(offset); i < view.extents.size() && bytes < limit; ++i) {
    bytes += view.extents[i].byte_length;
  }
  return bytes;
}

std::vector<metadata::Extent> extents_from(const metadata::PartitionView& view, Offset offset,
                                           ByteCount limit) {
  std::vector<metadata::Extent> extents;
  ByteCount bytes = 0;
  for (std::size_t i = view.extents.find(offset); i < view.extents.size(); ++i) {
    extents.push_back(view.extents[i]);
    // Of the first extent a part may lie before the offset: it does not count.
    if (extents.size() > 1 || view.extents[i].base_offset >= offset)
      bytes += view.extents[i].byte_length;
    if (bytes >= limit) break;
  }
  return extents;
}

kafka::KafkaError check_leader_epoch(LeaderEpoch requested, LeaderEpoch current) {
  return requested > current ? kafka::KafkaError::kUnknownLeaderEpoch : kafka::KafkaError::kNone;
}

}  // namespace weir::fetch

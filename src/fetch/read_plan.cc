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

std::optional<EpochEnd> end_of_epoch(const metadata::PartitionView& view, LeaderEpoch current,
                                     LeaderEpoch epoch) {
  if (epoch < 0 || epoch > current) return std::nullopt;
  // Records carry an earlier epoch than the leader's.
  EpochEnd end{.epoch = std::min(epoch, view.leader_epoch), .offset = view.high_watermark};
  // The epochs of extents do not fall: the first extent of a later epoch starts where the asked one
  // ended.
  for (std::size_t i = view.extents.size(); i > 0 && view.extents[i - 1].leader_epoch > end.epoch;
       --i) {
    end.offset = view.extents[i - 1].base_offset;
  }
  return end;
}

}  // namespace weir::fetch

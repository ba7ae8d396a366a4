#include "compaction/retention_rule.h"

#include <algorithm>

namespace weir::compaction {
namespace {

bool is_expired(const metadata::Extent& extent, RetentionRule rule, TimestampMs now) {
  // Records without a timestamp are as old as their append, as in Kafka.
  TimestampMs youngest = extent.max_timestamp >= 0 ? extent.max_timestamp : extent.append_time;
  return rule.ms >= 0 && now - youngest > rule.ms;
}

bool is_above_size(const metadata::Extent& extent, RetentionRule rule, ByteCount left) {
  return rule.bytes >= 0 && left >= extent.byte_length &&
         left - extent.byte_length >= static_cast<ByteCount>(rule.bytes);
}

}  // namespace

Offset retained_start(const metadata::PartitionView& view, RetentionRule rule, TimestampMs now) {
  Offset start = view.log_start;
  ByteCount left = view.live_bytes;
  for (std::size_t i = 0; i < view.extents.size(); ++i) {
    const metadata::Extent& extent = view.extents[i];
    if (!is_expired(extent, rule, now) && !is_above_size(extent, rule, left)) break;
    left -= std::min<ByteCount>(left, extent.byte_length);
    start = std::max(start, extent.last_offset() + 1);
  }
  return start;
}

}  // namespace weir::compaction

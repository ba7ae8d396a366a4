// How far retention moves a partition's log start (retention.ms, retention.bytes). Pure.
#pragma once
#include "base/units.h"
#include "metadata/state/partition_cell.h"

#include <cstdint>

namespace weir::compaction {

// -1: no limit.
struct RetentionRule {
  std::int64_t ms = -1;
  std::int64_t bytes = -1;
};

// The log start after retention, at least the present one. Whole extents go, oldest first, as Kafka
// deletes whole segments: by time until one whose greatest timestamp is young enough (a record from
// the future therefore keeps those after it), by size while what stays is at least retention.bytes.
[[nodiscard]] Offset retained_start(const metadata::PartitionView& view, RetentionRule rule,
                                    TimestampMs now);

}  // namespace weir::compaction

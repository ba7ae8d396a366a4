// Which extents a fetch reads: pure look-ups in an immutable view of a partition.
#pragma once
#include "fetch/partition_fetch.h"
#include "metadata/state/partition_cell.h"

#include <vector>

namespace weir::fetch {

// The bytes that a fetch at `offset` could return, counted in whole extents up to `limit` and a
// little more.
[[nodiscard]] ByteCount available_bytes(const metadata::PartitionView& view, Offset offset,
                                        ByteCount limit);

// The extents that hold the records from `offset` on, until they reach `limit` bytes: at least one
// if there is one.
[[nodiscard]] std::vector<metadata::Extent> extents_from(const metadata::PartitionView& view,
                                                         Offset offset, ByteCount limit);

// NONE, or why a fetch (or look-up) with these values is refused: FENCED_LEADER_EPOCH,
// UNKNOWN_LEADER_EPOCH.
[[nodiscard]] kafka::KafkaError check_leader_epoch(LeaderEpoch requested, LeaderEpoch current);

}  // namespace weir::fetch

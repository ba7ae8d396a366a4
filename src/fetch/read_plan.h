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

// UNKNOWN_LEADER_EPOCH when the client knows a later epoch than this broker: it may be behind. An
// earlier epoch is no reason to refuse anything, since every broker serves every partition.
[[nodiscard]] kafka::KafkaError check_leader_epoch(LeaderEpoch requested, LeaderEpoch current);

// The end of the largest epoch of records that is no later than `epoch`: where the next one begins,
// and the high watermark for the last. Nothing for an epoch later than `current`, the leader's.
[[nodiscard]] std::optional<EpochEnd> end_of_epoch(const metadata::PartitionView& view,
                                                   LeaderEpoch current, LeaderEpoch epoch);

}  // namespace weir::fetch

// Numbers of the snapshot format that its writer and its reader share.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/state/item_hash.h"

#include <cstdint>

namespace weir::metadata {

// The first byte of a part; the second is the version.
enum class PartKind : std::uint8_t {
  kHead = 1,
  kTopics,
  kGroups,
  kPartitions,
  kExtentRun,
  kObjects,
};

// As many extents of one partition, from an ordinal that is a multiple of it, are a part of their
// own: they never change.
constexpr std::uint64_t kExtentsPerRun = 4096;

// What SnapshotHead::check must be.
[[nodiscard]] inline std::int64_t snapshot_check(Position position, std::uint64_t chain_hash,
                                                 std::uint64_t state_hash) {
  return static_cast<std::int64_t>(ItemWriter()
                                       .number(position)
                                       .number(static_cast<std::int64_t>(chain_hash))
                                       .hash(ItemKind::kCluster, state_hash));
}

}  // namespace weir::metadata

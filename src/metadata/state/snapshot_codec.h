// The state as bytes: a snapshot is a set of parts, each small enough to be written, read and
// decoded alone, and named by what it holds. Equal states give equal parts, and parts of what did
// not change stay the same, so that snapshots share them. docs/formats/snapshot.md
// describes the bytes. Pure functions; any thread.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "metadata/state/frozen_state.h"
#include "metadata/state/state.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace weir::metadata {

struct SnapshotPart {
  std::string name;
  // Two parts of the same name and version have the same bytes; 0: compare the bytes.
  std::uint64_t version = 0;
  std::function<Slice()> encode;
};

// The parts of a snapshot. Their encode() may be called later, in any order and by any thread.
[[nodiscard]] std::vector<SnapshotPart> plan_snapshot(std::shared_ptr<const FrozenState> frozen);

// What a part holds, decoded.
struct PartitionRecord {
  TopicPartition name;
  Offset log_start = 0;
  Offset high_watermark = 0;
  // All extents have the ordinals [begin, end); those in [runs_begin, runs_end) are in ExtentRuns.
  std::uint64_t begin = 0;
  std::uint64_t runs_begin = 0;
  std::uint64_t runs_end = 0;
  std::uint64_t end = 0;
  std::vector<Extent> extents;  // the others, in order
  std::vector<std::pair<ProducerId, ProducerState>> producers;
};
struct PartitionRecords {
  std::vector<PartitionRecord> partitions;
};
struct ExtentRun {
  TopicPartition name;
  std::uint64_t begin = 0;
  std::vector<Extent> extents;
};
struct ObjectRecords {
  std::vector<std::pair<ObjectId, ObjectState>> objects;
};
using DecodedPart = std::variant<SnapshotHead, SnapshotTopics, SnapshotGroups, PartitionRecords,
                                 ExtentRun, ObjectRecords>;

// Errors: kInvalid, a newer Weir wrote it; kCorrupt.
[[nodiscard]] Result<DecodedPart> decode_part(const Slice& bytes);

// The state, from all parts of a snapshot in any order. kCorrupt: they do not belong together, or
// give another state than the one that was written.
[[nodiscard]] Result<State> assemble(std::vector<DecodedPart> parts);

}  // namespace weir::metadata

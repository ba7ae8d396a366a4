// ListOffsets by time: which record is the first at or after a timestamp, and which has the
// greatest one. Finds the extent in the state and the record in its batches (docs/architecture.md,
// "Read path"). Owned by main; any core.
#pragma once
#include "base/error.h"
#include "fetch/batch_assembly.h"
#include "fetch/object_reader.h"
#include "kafka/records/timestamp_search.h"
#include "metadata/state/partition_cell.h"

#include <optional>

namespace weir::fetch {

struct FoundOffset {
  Offset offset = kNoOffset;
  TimestampMs timestamp = kNoTimestamp;
  LeaderEpoch leader_epoch = -1;
};

class OffsetLookup {
 public:
  explicit OffsetLookup(ObjectReader& reader) : reader_(reader) {}

  // Errors: those of the reader; kCorrupt, and the reader is told.
  //
  // The first record, in offset order and not before the log start, with a timestamp of at least
  // `target`. Create times need not be sorted. Nothing when there is none.
  Task<Result<std::optional<FoundOffset>>> at_or_after(metadata::PartitionView view,
                                                       TimestampMs target);

  // The first record with the greatest timestamp of the log. Nothing when it is empty.
  Task<Result<std::optional<FoundOffset>>> greatest(metadata::PartitionView view);

 private:
  ObjectReader& reader_;
};

}  // namespace weir::fetch

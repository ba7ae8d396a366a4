// Finds records by timestamp inside one batch, for ListOffsets: record by record, in offset order,
// decompressing in a stream. Create times need not be sorted. In a batch stamped with LogAppendTime
// every record has the stamp. Pure; any thread.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "kafka/records/patching.h"

#include <optional>

namespace weir::kafka {

struct TimestampHit {
  TimestampMs timestamp = kNoTimestamp;
  Offset offset = kNoOffset;
};

// The first record at or after `min_offset` with a timestamp of at least `target`. `batch` is one
// stored batch and `assignment` what the commit gave it. Errors: kCorrupt for bytes that are no
// batch; kExhausted above `max_decompressed_bytes`.
[[nodiscard]] Result<std::optional<TimestampHit>> find_timestamp(Bytes batch,
                                                                 const BatchAssignment& assignment,
                                                                 TimestampMs target,
                                                                 Offset min_offset,
                                                                 ByteCount max_decompressed_bytes);

// The first of the records with the greatest timestamp. Nothing in a batch without records.
[[nodiscard]] Result<std::optional<TimestampHit>> find_max_timestamp(
    Bytes batch, const BatchAssignment& assignment, ByteCount max_decompressed_bytes);

}  // namespace weir::kafka

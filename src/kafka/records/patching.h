// What a stored batch gets when it is read: its offset, its leader epoch and, where the topic
// stamps, the time of its append. Pure functions; payload bytes are neither copied nor read.
//
// The first 16 bytes lie outside the CRC. The stamp lies inside it, so the CRC is patched from the
// header alone: CRC is linear, and the CRC of the difference between two headers, moved past the
// payload, is the difference of their CRCs. A payload that rotted keeps failing its check, which a
// CRC computed anew would hide.
#pragma once
#include "base/bytes.h"
#include "base/units.h"
#include "kafka/records/record_batch.h"

#include <optional>

namespace weir::kafka {

// What the commit of a batch gave it.
struct BatchAssignment {
  Offset base_offset = 0;
  LeaderEpoch leader_epoch = 0;
  // Set on topics with message.timestamp.type=LogAppendTime: the timestamp of all the batch's
  // records.
  std::optional<TimestampMs> log_append_time;
};

// Appends the batch with its assignment: a fresh header, of 16 bytes or of kBatchHeaderSize with a
// stamp, and the rest of the slice. `batch` is one whole batch.
void append_patched(Chain& out, const Slice& batch, const BatchAssignment& assignment);

// The same for a run of batches that were committed together: the first gets the assignment's base
// offset, each further one the offset after its predecessor's last. kCorrupt, and nothing appended,
// when the run is not made of whole batches.
[[nodiscard]] Status append_patched_run(Chain& out, const Slice& run,
                                        const BatchAssignment& assignment);

// The batch with other attributes and maxTimestamp: a copy, for the write path. The CRC is patched
// like above.
[[nodiscard]] Slice with_timestamps(const Slice& batch, std::uint16_t attributes,
                                    TimestampMs max_timestamp);

}  // namespace weir::kafka

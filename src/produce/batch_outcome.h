// What became of one produced batch, as the Produce response tells it.
#pragma once
#include "base/units.h"
#include "kafka/protocol/errors.h"

namespace weir::produce {

// An error never carries an offset.
struct BatchOutcome {
  kafka::KafkaError error = kafka::KafkaError::kNone;
  Offset base_offset = kNoOffset;
  TimestampMs log_append_time_ms = kNoTimestamp;  // -1 unless the topic stamps LogAppendTime
  Offset log_start_offset = kNoOffset;
};

}  // namespace weir::produce

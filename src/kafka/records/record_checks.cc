#include "kafka/records/record_checks.h"

#include "kafka/records/record.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::kafka {
namespace {

using Wide = __int128;

TimestampMs clamp(Wide value) {
  using Limits = std::numeric_limits<TimestampMs>;
  return static_cast<TimestampMs>(std::clamp<Wide>(value, Limits::min(), Limits::max()));
}

}  // namespace

void RecordChecks::check(const RecordInfo& record) {
  dense_ = dense_ && record.offset_delta == index_;
  TimestampMs timestamp = record_timestamp(base_timestamp_, record.timestamp_delta);
  // One error for a record, the first of these.
  if (rules_.compacted && !record.has_key) {
    reject(KafkaError::kInvalidRecord, "a record of a compacted topic must have a key");
  } else if (forbidden_stamp_) {
    reject(KafkaError::kInvalidTimestamp,
           "a producer must not set the timestamp type LogAppendTime");
  } else if (!rules_.log_append_time && is_outside_window(timestamp)) {
    reject_timestamp(timestamp);
  }
  max_timestamp_ = std::max(max_timestamp_, timestamp);
  ++index_;
}

bool RecordChecks::is_outside_window(TimestampMs timestamp) const {
  if (timestamp == kNoTimestamp) return false;
  Wide age = Wide{now_ms_} - timestamp;
  return age > rules_.timestamp_before_max_ms || -age > rules_.timestamp_after_max_ms;
}

void RecordChecks::reject_timestamp(TimestampMs timestamp) {
  has_timestamp_error_ = true;
  // No text for what is not told.
  if (record_errors_.size() >= kMaxRecordErrors) {
    ++errors_;
    return;
  }
  reject(KafkaError::kInvalidTimestamp,
         fmt::format("timestamp {} is outside the topic's window from {} to {}", timestamp,
                     clamp(Wide{now_ms_} - rules_.timestamp_before_max_ms),
                     clamp(Wide{now_ms_} + rules_.timestamp_after_max_ms)));
}

void RecordChecks::reject(KafkaError error, std::string message) {
  ++errors_;
  has_timestamp_error_ = has_timestamp_error_ || error == KafkaError::kInvalidTimestamp;
  if (record_errors_.size() < kMaxRecordErrors) {
    record_errors_.push_back({index_, std::move(message)});
  }
}

std::optional<BatchRejection> RecordChecks::take_rejection() {
  if (errors_ == 0) return std::nullopt;
  constexpr std::size_t kShown = 3;
  BatchRejection out;
  out.error = has_timestamp_error_ ? KafkaError::kInvalidTimestamp : KafkaError::kInvalidRecord;
  out.message = fmt::format("{} of {} records are invalid", errors_, index_);
  for (std::size_t i = 0; i < std::min(kShown, record_errors_.size()); ++i) {
    out.message += fmt::format("{} record {}: {}", i == 0 ? ":" : ";",
                               record_errors_[i].batch_index, record_errors_[i].message);
  }
  out.record_errors = std::move(record_errors_);
  return out;
}

}  // namespace weir::kafka

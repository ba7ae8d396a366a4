// Inside validation: the rules for single records, and what they say together.
#pragma once
#include "kafka/records/record_batch.h"
#include "kafka/records/record_walker.h"
#include "kafka/records/validation.h"

namespace weir::kafka {

class RecordChecks {
 public:
  RecordChecks(const RecordBatchView& batch, const ValidationRules& rules, TimestampMs now_ms)
      : rules_(rules),
        now_ms_(now_ms),
        base_timestamp_(batch.base_timestamp()),
        forbidden_stamp_(rules.log_append_time && batch.is_log_append_time()) {}

  // The next record of the batch.
  void check(const RecordInfo& record);

  // What is wrong with the records, if anything is.
  [[nodiscard]] std::optional<BatchRejection> take_rejection();
  [[nodiscard]] TimestampMs max_timestamp() const { return max_timestamp_; }
  // The offset deltas were 0, 1, 2, …
  [[nodiscard]] bool is_dense() const { return dense_; }

 private:
  [[nodiscard]] bool is_outside_window(TimestampMs timestamp) const;
  void reject_timestamp(TimestampMs timestamp);
  void reject(KafkaError error, std::string message);

  const ValidationRules& rules_;
  const TimestampMs now_ms_;
  const TimestampMs base_timestamp_;
  const bool forbidden_stamp_;
  std::int32_t index_ = 0;
  TimestampMs max_timestamp_ = kNoTimestamp;
  bool dense_ = true;
  std::int32_t errors_ = 0;
  bool has_timestamp_error_ = false;
  std::vector<RecordError> record_errors_;
};

}  // namespace weir::kafka

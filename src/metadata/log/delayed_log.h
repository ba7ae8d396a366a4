// A log whose appends are answered as slowly as those of a remote one. For measuring what latency
// does. Thread-safe; owns the log below, and the clock outlives it.
#pragma once
#include "metadata/log/forwarding_log.h"
#include "runtime/clock.h"
#include "runtime/latency_model.h"

namespace weir::metadata {

class DelayedLog final : public ForwardingLog {
 public:
  DelayedLog(std::unique_ptr<MetadataLog> inner, Clock& clock, LatencyQuantiles append, Rng rng)
      : ForwardingLog(std::move(inner)), clock_(clock), appends_(append, rng) {}

  // Half of the delay is on the way there, so that others see the entry before its writer does.
  Task<Result<Appended>> append(Slice entry, Position known) override;

 private:
  Clock& clock_;
  LatencyModel appends_;
};

}  // namespace weir::metadata

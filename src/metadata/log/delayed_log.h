// A log whose appends are answered as slowly as those of a remote one; everything else is passed
// on. For measuring what latency does. Thread-safe; owns the log
// below, and the clock outlives it.
#pragma once
#include "metadata/log/metadata_log.h"
#include "runtime/clock.h"
#include "runtime/latency_model.h"

#include <memory>

namespace weir::metadata {

class DelayedLog final : public MetadataLog {
 public:
  DelayedLog(std::unique_ptr<MetadataLog> inner, Clock& clock, LatencyQuantiles append, Rng rng)
      : inner_(std::move(inner)), clock_(clock), appends_(append, rng) {}

  // Half of the delay is on the way there, so that others see the entry before its writer does.
  Task<Result<Appended>> append(Slice entry, Position known) override;
  Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit) override {
    return inner_->read(after, limit);
  }
  Task<Result<Position>> tail() override { return inner_->tail(); }
  Task<void> wait_past(Position position, MonoTime deadline) override {
    return inner_->wait_past(position, deadline);
  }
  Task<Result<SnapshotRef>> latest_snapshot() override { return inner_->latest_snapshot(); }
  Task<Status> record_snapshot(SnapshotRef ref) override {
    return inner_->record_snapshot(std::move(ref));
  }
  Task<Status> trim(Position upto) override { return inner_->trim(upto); }
  Task<Result<Uuid>> cluster_id(Uuid proposal) override { return inner_->cluster_id(proposal); }
  [[nodiscard]] std::uint64_t incarnation() const override { return inner_->incarnation(); }
  [[nodiscard]] Duration look_interval() const override { return inner_->look_interval(); }
  Task<void> stop() override { return inner_->stop(); }

 private:
  std::unique_ptr<MetadataLog> inner_;
  Clock& clock_;
  LatencyModel appends_;
};

}  // namespace weir::metadata

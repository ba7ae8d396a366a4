// Base of logs that change one call of the log below: everything else is passed on. Owns the log
// below; as thread-safe as that.
#pragma once
#include "metadata/log/metadata_log.h"

#include <memory>

namespace weir::metadata {

class ForwardingLog : public MetadataLog {
 public:
  explicit ForwardingLog(std::unique_ptr<MetadataLog> inner) : inner_(std::move(inner)) {}

  Task<Result<Appended>> append(Slice entry, Position known) override {
    return inner_->append(std::move(entry), known);
  }
  Task<Result<Appended>> append_for_another(Slice entry, Position known) override {
    return inner_->append_for_another(std::move(entry), known);
  }
  void heard_of(Position position, MonoTime began) override { inner_->heard_of(position, began); }
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

 protected:
  [[nodiscard]] MetadataLog& below() { return *inner_; }

 private:
  std::unique_ptr<MetadataLog> inner_;
};

}  // namespace weir::metadata

// The metadata log as one broker reaches it: slow, failing, unreachable when the broker is dead.
// Appends whose answer is lost took effect, or take effect later, as when a database goes on
// working for a connection that is gone. The entries are shared by all brokers.
#pragma once
#include "metadata/log/metadata_log.h"
#include "sim/sim_store.h"

namespace weir::sim {

class SimLog final : public metadata::MetadataLog {
 public:
  SimLog(Outside outside, Caller caller);

  // The broker is dead: nothing it does has an effect any more.
  void cut() { is_cut_ = true; }

  Task<Result<metadata::Appended>> append(Slice entry, metadata::Position known) override;
  Task<Result<std::vector<metadata::LogEntry>>> read(metadata::Position after,
                                                     ByteCount limit) override;
  Task<Result<metadata::Position>> tail() override;
  Task<void> wait_past(metadata::Position position, MonoTime deadline) override;
  Task<Result<metadata::SnapshotRef>> latest_snapshot() override;
  Task<Status> record_snapshot(metadata::SnapshotRef ref) override;
  Task<Status> trim(metadata::Position upto) override;
  Task<Result<Uuid>> cluster_id(Uuid proposal) override;
  [[nodiscard]] std::uint64_t incarnation() const override { return outside_.log.incarnation(); }

 private:
  template <typename Answer>
  Task<Answer> perform(const char* name, const CallFaults& faults,
                       std::function<Task<Answer>()> call);
  [[nodiscard]] bool is_down() const {
    return is_cut_ || outside_.weather.log_down || outside_.weather.cut(caller_.broker).log;
  }

  Outside outside_;
  Caller caller_;
  Rng rng_;
  bool is_cut_ = false;
};

}  // namespace weir::sim

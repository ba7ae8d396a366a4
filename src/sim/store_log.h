// A broker process's metadata log in the simulated store, with the way to the broker that appends
// for all: the real code of src/main/sequencing.h on a simulated network. Lives on its machine.
#pragma once
#include "metadata/sequenced_log.h"
#include "runtime/metrics.h"
#include "sim/sim_store.h"

#include <memory>
#include <optional>

namespace weir::sim {

class StoreLog {
 public:
  // `store` outlives it.
  StoreLog(const Outside& outside, storage::ObjectStore& store, Machine& machine, BrokerId self);
  ~StoreLog();

  [[nodiscard]] metadata::MetadataLog& log() { return *log_; }
  // Where the process appends for others.
  [[nodiscard]] metadata::MetadataLog& shared_log() { return log_->inner(); }
  // Before the coordinator's start().
  void watch(metadata::Coordinator& coordinator);
  // The process is killed: nothing leaves it any more.
  void cut();

 private:
  class PeerLink;

  BrokerId self_;
  MetricsRegistry metrics_;
  std::unique_ptr<PeerLink> link_;
  std::unique_ptr<metadata::AppendCarrier> carrier_;
  std::unique_ptr<metadata::SequencedLog> log_;
  std::optional<metadata::SequencerWatch> watch_;
};

}  // namespace weir::sim

// What a broker on a log in the object store needs so that one broker appends for all
// (metadata/sequenced_log.h): the way to that broker, and the watch on which one it is. Owned by
// the broker process; lives on the coordinator's executor.
#pragma once
#include "broker/entry_carrier.h"
#include "broker/tcp_peer_channel.h"
#include "metadata/sequenced_log.h"

namespace weir {

class Sequencing {
 public:
  // kInvalid: there is no way to other machines (the system's certificates cannot be read).
  [[nodiscard]] static Result<std::unique_ptr<Sequencing>> open(BrokerId self,
                                                                const std::string& listener,
                                                                Clock& clock, Executor executor);

  // The log to use instead of `log`.
  std::unique_ptr<metadata::MetadataLog> wrap(std::unique_ptr<metadata::MetadataLog> log,
                                              MetricsRegistry& metrics);
  // After wrap(), before the coordinator's start().
  void watch(metadata::Coordinator& coordinator);
  // Where to append for others. After wrap(); lives as long as the log that it gave.
  [[nodiscard]] metadata::MetadataLog& shared_log() { return log_->inner(); }

 private:
  Sequencing(BrokerId self, const std::string& listener, Clock& clock, Executor executor,
             std::unique_ptr<net::Connector> connector);

  BrokerId self_;
  Clock& clock_;
  std::unique_ptr<net::Connector> connector_;
  broker::TcpPeerChannel channel_;
  broker::EntryCarrier carrier_;
  metadata::SequencedLog* log_ = nullptr;
  std::optional<metadata::SequencerWatch> watch_;
};

}  // namespace weir

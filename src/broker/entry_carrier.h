// Carries appends to another broker by the request AppendEntry, and checks that the answer is that
// broker's. Owned by main; as many threads at once as its channel takes.
#pragma once
#include "broker/peer_channel.h"
#include "metadata/append_carrier.h"

namespace weir::broker {

class EntryCarrier final : public metadata::AppendCarrier {
 public:
  // The channel outlives it.
  EntryCarrier(BrokerId self, PeerChannel& channel) : self_(self), channel_(channel) {}

  [[nodiscard]] bool takes(const Slice& entry) const override;
  Task<Result<metadata::Appended>> carry(const metadata::BrokerImage& to, Slice entry,
                                         metadata::Position known) override;

 private:
  BrokerId self_;
  PeerChannel& channel_;
};

}  // namespace weir::broker

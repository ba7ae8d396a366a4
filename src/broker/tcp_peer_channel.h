// The way to another broker over the network: one connection, kept while it is of use, to the
// listener that brokers use among themselves.
//
// Belongs to one executor, where every call happens. Gives up on a broker that does not take the
// connection or does not answer in time: who asks has another way.
#pragma once
#include "broker/peer_channel.h"
#include "net/connector.h"
#include "runtime/lazy_deadline.h"

#include <memory>
#include <string>

namespace weir::broker {

struct PeerChannelOptions {
  // inter.broker.listener.name; a broker without such a listener is met at its first one.
  std::string listener;
  Duration connect = std::chrono::seconds(1);
  // An append to the store and the one before it, even when the store is slow.
  Duration answer = std::chrono::seconds(2);
};

class TcpPeerChannel final : public PeerChannel {
 public:
  // Connector and clock outlive it.
  TcpPeerChannel(net::Connector& connector, Clock& clock, Executor executor,
                 PeerChannelOptions options = {});

  // While one exchange is under way another one is refused with kUnavailable.
  Task<Result<Slice>> exchange(const metadata::BrokerImage& to, Chain frame) override;

 private:
  Task<Result<Slice>> exchange_alone(const metadata::BrokerImage& to, Chain frame);
  Task<Status> connect(const metadata::BrokerImage& to);
  Task<Result<Slice>> ask(Chain frame);

  net::Connector& connector_;
  Clock& clock_;
  const PeerChannelOptions options_;
  std::unique_ptr<net::Stream> stream_;  // to the registration epoch_
  BrokerEpoch epoch_ = -1;
  bool is_busy_ = false;
  LazyDeadline deadline_;
};

}  // namespace weir::broker

#include "broker/kafka_handler.h"

#include <algorithm>

namespace weir::broker {
namespace {

// "10.0.0.7:53412" → "10.0.0.7", "[::1]:53412" → "::1".
std::string address_of(std::string_view peer) {
  std::string_view address = peer.substr(0, peer.rfind(':'));
  if (address.starts_with('[') && address.ends_with(']'))
    address = address.substr(1, address.size() - 2);
  return std::string(address);
}

}  // namespace

KafkaHandler::KafkaHandler(std::vector<Executor> cores, MetricsRegistry& metrics, Clock& clock)
    : cores_(std::move(cores)),
      clock_(clock),
      start_time_(
          metrics.histogram("weir_request_start_seconds",
                            "Time until the next request of the same connection may be read.",
                            HistogramKind::kLatency)) {}

void KafkaHandler::opened(net::ConnectionContext& context) {
  auto core = std::ranges::find(cores_, context.executor);
  context.state = std::make_shared<ClientConnection>(
      ClientConnection{.core = static_cast<std::size_t>(core - cores_.begin()) % cores_.size(),
                       .listener = context.listener,
                       .peer_address = address_of(context.peer)});
}

// A request that waits for others (a rebalance) goes on when its connection is gone, but must not
// hold the connection: it runs as a task of its own, and the connection waits for it or for its
// end.
Task<net::Pending> KafkaHandler::start(net::Request request, net::ConnectionContext& context) {
  Dispatcher* dispatcher = dispatcher_;
  if (dispatcher == nullptr) {
    co_return answered(fail(ErrorCode::kUnavailable, "the broker is not ready"));
  }
  MonoTime start = clock_.now();
  OneShot<PendingAnswer> started;
  tasks_.spawn(context.executor, run(*dispatcher, std::move(request),
                                     std::static_pointer_cast<ClientConnection>(context.state),
                                     context.closed, started));
  std::stop_callback on_closed(context.closed, [started]() mutable {
    started.set(answered(fail(ErrorCode::kCancelled, "the connection is closed")));
  });
  PendingAnswer answer = co_await started.wait();
  start_time_.observe(clock_.now() - start);
  co_return answer;
}

bool KafkaHandler::is_short_of_memory() const {
  const Dispatcher* dispatcher = dispatcher_;
  return dispatcher != nullptr && dispatcher->is_short_of_memory();
}

Task<void> KafkaHandler::run(Dispatcher& dispatcher, net::Request request,
                             std::shared_ptr<ClientConnection> client, std::stop_token closed,
                             OneShot<PendingAnswer> started) {
  started.set(co_await dispatcher.start(std::move(request.frame), std::move(request.reservation),
                                        *client, std::move(closed)));
}

}  // namespace weir::broker

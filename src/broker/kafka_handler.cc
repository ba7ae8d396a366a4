#include "broker/kafka_handler.h"

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

Task<net::Pending> KafkaHandler::start(net::Request request, net::ConnectionContext& context) {
  Dispatcher* dispatcher = dispatcher_;
  if (dispatcher == nullptr)
    co_return answered(fail(ErrorCode::kUnavailable, "the broker is not ready"));
  auto client = std::static_pointer_cast<ClientConnection>(context.state);
  MonoTime start = clock_.now();
  PendingAnswer answer =
      co_await dispatcher->start(std::move(request.frame), std::move(request.reservation), *client);
  start_time_.observe(clock_.now() - start);
  co_return answer;
}

}  // namespace weir::broker

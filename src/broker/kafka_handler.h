// Connects the listeners to the dispatcher: makes the state of each connection, and closes
// connections while the broker is not ready. Owned by main; called on every core.
#pragma once
#include "broker/dispatcher.h"
#include "net/request_handler.h"
#include "runtime/metrics.h"

#include <atomic>
#include <vector>

namespace weir::broker {

class KafkaHandler final : public net::RequestHandler {
 public:
  KafkaHandler(std::vector<Executor> cores, MetricsRegistry& metrics, Clock& clock);

  // Requests are served from now on. The dispatcher outlives all connections.
  void open(Dispatcher& dispatcher) { dispatcher_ = &dispatcher; }
  void close() { dispatcher_ = nullptr; }

  void opened(net::ConnectionContext& context) override;
  Task<net::Pending> start(net::Request request, net::ConnectionContext& context) override;

 private:
  std::vector<Executor> cores_;
  Clock& clock_;
  std::atomic<Dispatcher*> dispatcher_ = nullptr;
  Histogram& start_time_;
};

}  // namespace weir::broker

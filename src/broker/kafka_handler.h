// Connects the listeners to the dispatcher: makes the state of each connection, and closes
// connections while the broker is not ready. Owned by main; called on every core.
#pragma once
#include "broker/dispatcher.h"
#include "net/request_handler.h"
#include "runtime/metrics.h"
#include "runtime/task_group.h"

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
  [[nodiscard]] bool is_short_of_memory() const override;
  // After the last connection: until no request is under way.
  Task<void> join() { return tasks_.join(); }

 private:
  static Task<void> run(Dispatcher& dispatcher, net::Request request,
                        std::shared_ptr<ClientConnection> client, std::stop_token closed,
                        OneShot<PendingAnswer> started);

  std::vector<Executor> cores_;
  Clock& clock_;
  std::atomic<Dispatcher*> dispatcher_ = nullptr;
  Histogram& start_time_;
  TaskGroup tasks_;
};

}  // namespace weir::broker

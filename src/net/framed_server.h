// A Kafka listener: accepts connections, serves each as a FramedConnection, and ends them in good
// order.
//
// Owned by main; constructed, started and drained from one thread; connections live on the cores.
#pragma once
#include "net/framed_connection.h"
#include "net/listener.h"
#include "runtime/log.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::net {

struct FramedServerServices {
  Clock& clock;
  ByteBudget& memory;  // of requests; all listeners share it
  ByteBudget& slots;   // connections; all listeners share it (max.connections)
  RequestHandler& handler;
  MetricsRegistry& metrics;
};

class FramedServer final : public StreamServer {
 public:
  // `name`: of the listener, as in `listeners`.
  FramedServer(std::string name, std::vector<Executor> cores, const FramedServerServices& services,
               const ConnectionLimits& limits);
  // drain() must have ended.
  ~FramedServer() override;

  Status start(const ListenAddress& address) { return listener_.start(address); }
  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
  [[nodiscard]] std::size_t connections() const { return listener_.connections(); }

  // Accepts no more, lets every connection answer what it has read, and closes it; those that have
  // not ended after `patience` are cut off. Returns when all have ended.
  Task<void> drain(Duration patience);

  Task<void> serve(std::unique_ptr<Stream> stream, std::size_t core) override;

 private:
  // The connections of a core, by id; touched there only.
  struct Core {
    Executor executor;
    std::map<std::uint64_t, FramedConnection*> connections;
  };

  void on_every_connection(std::function<void(FramedConnection&)> action);
  void report(const ConnectionContext& context, const Status& ended);

  const std::string name_;
  const ConnectionLimits limits_;
  ConnectionMetrics metrics_;
  ConnectionServices services_;
  std::vector<std::shared_ptr<Core>> cores_;  // shared with what is posted to them
  std::atomic<bool> draining_ = false;
  std::atomic<bool> cut_off_ = false;
  log::RateLimit log_limit_{std::chrono::seconds(1)};
  Listener listener_;
};

}  // namespace weir::net

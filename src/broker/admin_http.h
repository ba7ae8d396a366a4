// What operators see of a broker: /metrics (Prometheus), /healthz (the process works), /readyz (it
// serves clients; if not, the reason). Owned by main.
#pragma once
#include "base/error.h"
#include "base/units.h"
#include "net/http_server.h"
#include "runtime/metrics.h"

#include <functional>

namespace weir::broker {

struct AdminHttpParts {
  Executor executor;
  Clock& clock;
  MetricsRegistry& metrics;
  // In use by requests. Called on the executor, and so is readiness().
  std::function<ByteCount()> request_memory;
  // Success, or why the broker does not serve now.
  std::function<Status()> readiness;
};

class AdminHttp {
 public:
  explicit AdminHttp(AdminHttpParts parts);

  Status start(const net::ListenAddress& address) { return server_.start(address); }
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  Task<void> stop() { return server_.stop(); }

 private:
  Task<net::HttpResponse> metrics();
  Task<net::HttpResponse> readiness();

  AdminHttpParts parts_;
  Gauge& request_memory_;
  Gauge& is_ready_;
  net::HttpServer server_;
};

}  // namespace weir::broker

#include "broker/admin_http.h"

#include "net/prometheus.h"

namespace weir::broker {
namespace {

constexpr int kOk = 200;
constexpr int kUnavailable = 503;

Task<net::HttpResponse> healthy() { co_return net::HttpResponse{.status = kOk, .body = "ok\n"}; }

}  // namespace

AdminHttp::AdminHttp(AdminHttpParts parts)
    : parts_(std::move(parts)),
      request_memory_(parts_.metrics.gauge(
          "weir_request_memory_bytes", "Memory of requests that are read and not answered yet.")),
      is_ready_(parts_.metrics.gauge("weir_ready", "1 while the broker serves clients.")),
      server_(parts_.executor, parts_.clock) {
  server_.route("/metrics", [this](const net::HttpRequest&) { return metrics(); });
  server_.route("/healthz", [](const net::HttpRequest&) { return healthy(); });
  server_.route("/readyz", [this](const net::HttpRequest&) { return readiness(); });
}

Task<net::HttpResponse> AdminHttp::metrics() {
  request_memory_.set(static_cast<std::int64_t>(parts_.request_memory()));
  is_ready_.set(parts_.readiness() ? 1 : 0);
  co_return net::HttpResponse{.status = kOk,
                              .content_type = std::string(net::kPrometheusContentType),
                              .body = net::prometheus_text(parts_.metrics)};
}

Task<net::HttpResponse> AdminHttp::readiness() {
  Status ready = parts_.readiness();
  if (ready) co_return net::HttpResponse{.status = kOk, .body = "ready\n"};
  co_return net::HttpResponse{.status = kUnavailable, .body = ready.error().to_string() + "\n"};
}

}  // namespace weir::broker

// A small HTTP/1.1 server for operators: /metrics, /healthz, /readyz. GET and HEAD without bodies,
// keep-alive, limits on everything. Not for clients of the broker.
//
// Owned by main; routes are added before start(). Connections and handlers run on the one executor
// it is given. Answers of its own: 400 (no HTTP, or a body), 404, 405, 431 (a header above the
// limit).
#pragma once
#include "base/error.h"
#include "base/units.h"
#include "net/listener.h"
#include "runtime/byte_budget.h"
#include "runtime/clock.h"
#include "runtime/task.h"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

namespace weir::net {

struct HttpRequest {
  std::string path;   // "/metrics"
  std::string query;  // behind the '?', as it came
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

using HttpHandler = std::function<Task<HttpResponse>(HttpRequest)>;

struct HttpLimits {
  ByteCount header_max = 8_KiB;
  // Beyond, the one that has waited longest for its client gives way: a probe is always answered.
  std::size_t connections_max = 64;
  // For a request to come, and again for its answer to be taken.
  Duration time_max = std::chrono::seconds(10);
  // Between two requests.
  Duration idle = std::chrono::minutes(2);
};

class HttpServer final : public StreamServer {
 public:
  HttpServer(Executor executor, Clock& clock, const HttpLimits& limits = {});
  // stop() must have ended.
  ~HttpServer() override;

  // `handler` answers GET and HEAD of exactly `path`.
  void route(std::string path, HttpHandler handler);
  Status start(const ListenAddress& address);
  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
  // Accepts no more and closes every connection; requests being answered still get their answer.
  Task<void> stop();

  Task<void> serve(std::unique_ptr<Stream> stream, std::size_t core) override;

 private:
  class Session;

  void make_room();

  Executor executor_;
  Clock& clock_;
  const HttpLimits limits_;
  std::map<std::string, HttpHandler> routes_;
  ByteBudget slots_;
  std::list<Session*> sessions_;  // the oldest first; touched on the executor only
  bool stopping_ = false;         // as well
  Listener listener_;
};

}  // namespace weir::net

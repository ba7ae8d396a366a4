// What a framed connection asks of the broker: stage 1 of every request, in order; the response
// later.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "runtime/clock.h"
#include "runtime/oneshot.h"
#include "runtime/task.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace weir::net {

// A whole response frame, its size in front; or no response (acks=0); or an error: responses to
// earlier requests are still sent, then the connection is closed.
using Response = Result<std::optional<Chain>>;

// Set once, from any thread. It must be set in the end, also when the connection is gone.
using Pending = OneShot<Response>;

struct Request {
  // Without the size in front.
  Slice frame;
  // The frame's place in the memory budget, given back when the last copy dies: whoever answers
  // the request keeps it until then.
  std::shared_ptr<const void> reservation;
  // When the frame was complete.
  MonoTime received;
};

// One connection as its handler sees it. It lives until `closed` is requested and every start() has
// returned; what outlives start() takes copies.
struct ConnectionContext {
  std::uint64_t id = 0;  // unique in the process
  std::string listener;  // its name, as in `listeners`
  std::string peer;      // "10.0.0.7:53412"
  std::uint16_t local_port = 0;
  Executor executor;  // where everything of this connection runs
  std::stop_token
      closed;  // requested when no further response will be sent: waits for data may end
  std::shared_ptr<void> state;  // the handler's own: client id, software, session
};

// Thread-safe in so far as connections of several cores call it at once; one connection's calls
// come one after the other.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;

  // Before the first request; sets context.state.
  virtual void opened(ConnectionContext& context) = 0;
  // Stage 1. The next request of the connection is read when this returns, so a handler delays the
  // return to keep requests in order, to throttle a client, or because the answers of requests that
  // are cheap to ask would be large. Returns soon once context.closed is requested.
  virtual Task<Pending> start(Request request, ConnectionContext& context) = 0;
  // Requests wait for memory that responses hold: clients must take theirs soon.
  [[nodiscard]] virtual bool is_short_of_memory() const { return false; }
};

}  // namespace weir::net

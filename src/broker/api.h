// How a Kafka API is served. Each API has a file of its own, x_api.cc, that defines a function from
// request to response and an ApiHandler (below) that names it; dispatcher.cc lists them. Adding an
// API is one file, one line there and one in apis.h, and the served versions in its schema.
//
// Functions run on the core of their connection. They answer errors in the response, per item, with
// the codes Kafka uses; they never close the connection. What they await must end: by a deadline of
// the request or of the part they call.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "broker/work_memory.h"
#include "kafka/protocol/frame.h"
#include "runtime/oneshot.h"
#include "runtime/task.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace weir::broker {

struct Broker;

// What is known of the client behind a request. Lives as long as its connection.
struct ClientConnection {
  std::size_t core = 0;       // the connection's executor
  std::string listener;       // the name of the listener it came in by
  std::string peer_address;   // without the port
  std::string software_name;  // as ApiVersions v3 told it
  std::string software_version;
};

struct RequestContext {
  kafka::RequestHeader header;
  ClientConnection& client;
  // The place of the request's frame in the memory budget; who answers later keeps it until then.
  std::shared_ptr<const void> reservation;
  // The place of what the request becomes, if that is much; it becomes the response's.
  WorkMemory::Place work;
  // Requested when the connection is gone: waits for data may end.
  std::stop_token closed;
  [[nodiscard]] std::int16_t version() const { return header.version; }
  [[nodiscard]] std::string client_id() const { return std::string(header.client_id.value_or("")); }
};

// The frame to send; nothing where the protocol has no response (acks=0); an error closes the
// connection.
using Answer = Result<std::optional<Chain>>;

// A response that may still be on its way: start() of an API returns as soon as the connection may
// read its next request.
using PendingAnswer = OneShot<Answer>;

struct ApiHandler {
  kafka::ApiKey key;
  Task<PendingAnswer> (*start)(Broker& broker, RequestContext context, Slice body);
};

// The frame around a response.
template <typename Response>
[[nodiscard]] Answer answer_with(const RequestContext& context, const Response& response) {
  WEIR_TRY(Chain frame,
           kafka::response_frame(context.header.correlation_id, response, context.version()));
  return frame;
}

[[nodiscard]] PendingAnswer answered(Answer answer);

// For an answer that may be minutes away: what the request was takes no memory until then.
void let_go_of_request(RequestContext& context, Slice& body);

// A large frame has a place in the memory for work until it is sent, however long its client takes:
// that of the request, if it is large enough, or one of its own. `records` of its bytes have a
// place elsewhere. False: there is none now.
[[nodiscard]] bool hold(Broker& broker, RequestContext& context, Answer& answer,
                        ByteCount records = 0);
// Waits for the place, with the frame. Where the connection is closed meanwhile, an error.
Task<Answer> hold_later(Broker& broker, RequestContext& context, Answer answer,
                        ByteCount records = 0);
// Waits for a place for a frame that is made again. False: the connection is closed.
Task<bool> wait_to_hold(Broker& broker, RequestContext& context, ByteCount size);

// The start() of an API whose requests are handled one at a time per connection: decode, call,
// encode. A body that cannot be decoded closes the connection, as in Kafka. A function that takes
// the context as it is, not const, may add to its work.
template <auto Function, typename Request>
Task<PendingAnswer> serve(Broker& broker, RequestContext context, Slice body) {
  auto request = kafka::decode<Request>(body, context.version());
  if (!request) co_return answered(std::unexpected(request.error()));
  auto response = co_await Function(broker, context, *request);
  Answer answer = answer_with(context, response);
  if (!hold(broker, context, answer))
    answer = co_await hold_later(broker, context, std::move(answer));
  co_return answered(std::move(answer));
}

// The same for a function that only reads. Small requests may have large answers: one that there is
// no memory for is made again when there is, so that those that wait have none.
template <auto Function, typename Request>
Task<PendingAnswer> serve_reading(Broker& broker, RequestContext context, Slice body) {
  auto request = kafka::decode<Request>(body, context.version());
  if (!request) co_return answered(std::unexpected(request.error()));
  while (true) {
    Answer answer = answer_with(context, co_await Function(broker, context, *request));
    if (hold(broker, context, answer)) co_return answered(std::move(answer));
    const ByteCount size = (*answer)->size();
    answer = std::nullopt;
    if (!co_await wait_to_hold(broker, context, size))
      co_return answered(fail(ErrorCode::kCancelled, "the connection is closed"));
  }
}

}  // namespace weir::broker

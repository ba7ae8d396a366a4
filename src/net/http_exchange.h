// One HTTP/1.1 request and its answer on a connection. For http_client.cc.
#pragma once
#include "net/http_client.h"
#include "net/stream.h"

#include <functional>

namespace weir::net {

// What is known of a connection after an exchange.
struct ExchangeTrace {
  bool answered = false;    // a byte of the answer came
  bool keep_alive = false;  // the connection can be used again
};

// Sends `call` and reads the answer; `progress` is called whenever bytes have gone out or come in.
Task<Result<HttpAnswer>> exchange(Stream& stream, const Origin& origin, const HttpCall& call,
                                  ExchangeTrace& trace, std::function<void()> progress);

}  // namespace weir::net

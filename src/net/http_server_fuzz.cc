// Any bytes on a connection of the HTTP server: it answers with HTTP, closes, and calls no handler
// for a path that is not its own.
#include "base/fuzz.h"
#include "net/http_server.h"
#include "net/pipe.h"
#include "runtime/test_loop.h"

#include <boost/asio/detached.hpp>

namespace {

using namespace weir;
using namespace weir::net;
using fuzz::require;

Task<void> send(Stream& client, Bytes bytes) {
  std::ignore = co_await write_all(client, Chain(Slice::copy_of(bytes)));
  client.shutdown_send();
}

Task<void> receive(Stream& client, std::string& answers) {
  std::array<std::byte, 4096> part;
  while (true) {
    auto count = co_await client.read_some(part, {});
    if (!count || *count == 0) co_return;
    answers += as_text(Bytes(part).first(*count));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  boost::asio::io_context context;
  ManualClock clock;
  HttpServer server(context.get_executor(), clock, {.header_max = 1_KiB});
  server.route("/ok", [](HttpRequest request) -> Task<HttpResponse> {
    require(request.path == "/ok" && request.query.size() <= 1_KiB);
    co_return HttpResponse{.body = "fine\n"};
  });
  auto [client, own] = make_pipe();
  std::string answers;
  boost::asio::co_spawn(context, server.serve(std::move(own), 0), boost::asio::detached);
  boost::asio::co_spawn(context, send(*client, fuzz::input(data, size)), boost::asio::detached);
  boost::asio::co_spawn(context, receive(*client, answers), boost::asio::detached);
  context.run();
  require(answers.empty() || answers.starts_with("HTTP/1.1 "));
  run_task(context, server.stop());
  return 0;
}

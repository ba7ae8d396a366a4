// Any bytes as what a server answers: each call ends, with an answer of a size that was allowed or
// with an error that callers know. The first byte chooses the method and whether the server then
// ends the connection or keeps silent.
#include "base/fuzz.h"
#include "net/fake_http.h"
#include "runtime/test_loop.h"

#include <boost/asio/detached.hpp>

namespace {

using namespace weir;
using namespace weir::net;
using fuzz::require;

constexpr ByteCount kAnswerMax = 4_KiB;

Task<void> call(HttpClient& client, HttpCall what, std::optional<Result<HttpAnswer>>& answer) {
  answer = co_await client.call(std::move(what));
}

void check(const Result<HttpAnswer>& answer, bool has_body) {
  if (!answer) {
    ErrorCode code = answer.error().code;
    require(code == ErrorCode::kTimeout || code == ErrorCode::kUnavailable ||
            code == ErrorCode::kExhausted);
    return;
  }
  require(answer->status >= 100 && answer->status <= 999);
  require(answer->body.size() <= (has_body ? kAnswerMax : 0));
  for (const auto& [name, value] : answer->headers)
    require(std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  bool is_head = (data[0] & 1) != 0;
  boost::asio::io_context context;
  ManualClock clock;
  FakeReply reply{.close = (data[0] & 2) == 0};
  reply.raw = as_text(fuzz::input(data + 1, size - 1));
  FakeHttp server(clock, [&](const FakeRequest&) { return reply; });
  HttpClient client(server, clock, {.host = "store", .port = 80});
  // The second call shows what the first left in a connection that is used again.
  for (int i = 0; i < 2; ++i) {
    std::optional<Result<HttpAnswer>> answer;
    HttpCall what{.method = is_head ? "HEAD" : "GET", .answer_max = kAnswerMax};
    boost::asio::co_spawn(context, call(client, std::move(what), answer), boost::asio::detached);
    for (int seconds = 0; seconds < 120 && !answer; ++seconds) {
      context.restart();
      context.poll();
      clock.advance(std::chrono::seconds(1));
    }
    require(answer.has_value());
    check(*answer, !is_head);
  }
  return 0;
}

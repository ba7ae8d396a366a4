#include "net/fake_http.h"

#include "net/pipe.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::net {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kBodyMax = 256 << 20;

std::string_view find(const HttpHeaders& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

// Nothing: the client has gone.
Task<std::optional<FakeRequest>> read_request(Stream& stream, std::string& unread) {
  http::request_parser<http::string_body> parser;
  parser.body_limit(kBodyMax);
  parser.eager(true);
  bool starved = unread.empty();
  while (!parser.is_done()) {
    if (starved) {
      std::array<std::byte, 8192> some;
      auto count = co_await stream.read_some(some, {});
      if (!count || *count == 0) co_return std::nullopt;
      unread += as_text(Bytes(some).first(*count));
    }
    boost::system::error_code error;
    unread.erase(0, parser.put(boost::asio::buffer(unread), error));
    starved = error == http::error::need_more || unread.empty();
    if (error && error != http::error::need_more) co_return std::nullopt;
  }
  FakeRequest request;
  request.method = std::string(parser.get().method_string());
  request.target = std::string(parser.get().target());
  request.body = parser.get().body();
  for (const auto& field : parser.get()) {
    std::string name(field.name_string());
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    request.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  co_return request;
}

std::string wire_form(const FakeRequest& request, const FakeReply& reply) {
  if (!reply.raw.empty()) return reply.raw;
  std::string out = fmt::format("HTTP/1.1 {} Status\r\n", reply.status);
  for (const auto& [name, value] : reply.headers) out += name + ": " + value + "\r\n";
  bool has_length = !find(reply.headers, "Content-Length").empty();
  if (reply.chunked) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (!has_length && reply.status != 204) {
    out += fmt::format("Content-Length: {}\r\n", reply.body.size());
  }
  out += "\r\n";
  if (request.method == "HEAD") return out;
  if (!reply.chunked) return out + reply.body;
  constexpr std::size_t kChunk = 7;
  for (std::size_t at = 0; at < reply.body.size(); at += kChunk) {
    std::string part = reply.body.substr(at, kChunk);
    out += fmt::format("{:x}\r\n{}\r\n", part.size(), part);
  }
  return out + "0\r\n\r\n";
}

}  // namespace

std::string_view FakeRequest::header(std::string_view name) const { return find(headers, name); }

FakeHttp::FakeHttp(Clock& clock, Handler handler)
    : state_(std::make_shared<State>(State{clock, std::move(handler), {}, 0})) {}

Task<Result<std::unique_ptr<Stream>>> FakeHttp::connect(Origin to, MonoTime deadline) {
  if (reach_ == Reach::kRefused) {
    co_return fail(ErrorCode::kUnavailable, "connect to " + to_string(to) + ": refused");
  }
  if (reach_ == Reach::kSilent) {
    co_await state_->clock.sleep(deadline - state_->clock.now());
    co_return fail(ErrorCode::kTimeout, "connect to " + to_string(to) + ": no answer");
  }
  auto [client, server] = make_pipe({.capacity = capacity_});
  boost::asio::co_spawn(co_await boost::asio::this_coro::executor,
                        serve(state_, std::move(server), ++state_->connections, to),
                        boost::asio::detached);
  co_return std::move(client);
}

Task<void> FakeHttp::serve(std::shared_ptr<State> state, std::unique_ptr<Stream> stream,
                           std::size_t number, Origin origin) {
  std::string unread;
  while (true) {
    auto request = co_await read_request(*stream, unread);
    if (!request) co_return;
    request->connection = number;
    request->origin = origin;
    state->seen.push_back(*request);
    FakeReply reply = state->handler(*request);
    if (reply.delay > Duration::zero()) co_await state->clock.sleep(reply.delay);
    std::string wire = wire_form(*request, reply);
    bool cut = reply.cut_at < wire.size();
    if (cut) wire.resize(reply.cut_at);
    Status written = co_await write_all(*stream, Chain(Slice::copy_of(wire)));
    if (!written || reply.close || (cut && !reply.hang_after_cut)) co_return;
  }
}

}  // namespace weir::net

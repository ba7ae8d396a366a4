#include "net/http_server.h"

#include "net/stream.h"
#include "runtime/lazy_deadline.h"
#include "runtime/run_on.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <algorithm>

namespace weir::net {
namespace {

namespace http = boost::beast::http;

// What a request says that matters here.
struct Asked {
  HttpRequest request;
  bool head_only = false;
  bool known_method = true;
  bool keep_alive = false;
};

HttpResponse plain(int status, std::string_view text) {
  return {.status = status, .body = std::string(text) + "\n"};
}

HttpResponse refusal(const boost::system::error_code& error) {
  if (error == http::error::header_limit) return plain(431, "the header is too large");
  if (error == http::error::body_limit) return plain(400, "requests have no body here");
  return plain(400, "this is no HTTP/1.1 request: " + error.message());
}

std::string head_of(const HttpResponse& response, bool keep_alive) {
  auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n",
                  response.status, std::string_view(reason.data(), reason.size()),
                  response.content_type, response.body.size(), keep_alive ? "keep-alive" : "close");
  if (response.status == 405) head += "Allow: GET, HEAD\r\n";
  return head + "\r\n";
}

}  // namespace

// One connection.
class HttpServer::Session {
 public:
  Session(HttpServer& server, std::unique_ptr<Stream> stream)
      : server_(server),
        stream_(std::move(stream)),
        deadline_(server.clock_, server.executor_, [this] { stream_->close(); }) {}

  Task<void> run() {
    bool keep_alive = true;
    while (keep_alive && !server_.stopping_) {
      std::optional<std::expected<Asked, HttpResponse>> asked = co_await read_request();
      if (!asked) break;
      HttpResponse response;
      if (*asked) {
        response = co_await answer(**asked);
      } else {
        response = asked->error();
      }
      keep_alive = *asked && (*asked)->keep_alive && !server_.stopping_;
      deadline_.set(server_.clock_.now() + server_.limits_.time_max);
      Chain chain(Slice::copy_of(head_of(response, keep_alive)));
      if (!*asked || !(*asked)->head_only) chain.append(Slice::copy_of(response.body));
      Status written = co_await write_all(*stream_, std::move(chain));
      if (!written) break;
    }
    deadline_.clear();
    co_await close_gently(*stream_, server_.clock_, std::chrono::seconds(1));
  }

  // Wakes it if it waits for a request.
  void stop() { stream_->cancel_read(); }
  // Whether it waits for its client, and for nothing here.
  [[nodiscard]] bool is_waiting() const { return is_waiting_; }
  void close() {
    is_waiting_ = false;
    stream_->close();
  }

 private:
  // Nothing: the connection is at its end. An error: what to answer to what was not understood.
  Task<std::optional<std::expected<Asked, HttpResponse>>> read_request() {
    http::request_parser<http::empty_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(server_.limits_.header_max));
    parser.body_limit(std::uint64_t{0});
    while (true) {
      if (!unread_.empty()) {
        boost::system::error_code error;
        unread_.erase(0, parser.put(boost::asio::buffer(unread_), error));
        if (error && error != http::error::need_more) {
          co_return std::unexpected(refusal(error));
        }
        if (parser.is_done()) co_return understood(parser.get());
        if (parser.is_header_done()) {
          co_return std::unexpected(refusal(http::make_error_code(http::error::body_limit)));
        }
      }
      // The time of a request runs from its first byte.
      const bool begun = !unread_.empty();
      if (!begun) deadline_.set(server_.clock_.now() + server_.limits_.idle);
      std::array<std::byte, 2048> some;
      is_waiting_ = true;
      Result<std::size_t> count = co_await stream_->read_some(some, {});
      is_waiting_ = false;
      if (!count || *count == 0) co_return std::nullopt;
      if (!begun) deadline_.set(server_.clock_.now() + server_.limits_.time_max);
      unread_ += as_text(Bytes(some).first(*count));
    }
  }

  static Asked understood(const http::request<http::empty_body>& message) {
    Asked asked;
    asked.head_only = message.method() == http::verb::head;
    asked.known_method = asked.head_only || message.method() == http::verb::get;
    asked.keep_alive = message.keep_alive();
    std::string_view target(message.target().data(), message.target().size());
    std::size_t mark = std::min(target.find('?'), target.size());
    asked.request.path = target.substr(0, mark);
    asked.request.query = target.substr(std::min(mark + 1, target.size()));
    return asked;
  }

  Task<HttpResponse> answer(const Asked& asked) {
    auto route = server_.routes_.find(asked.request.path);
    if (route == server_.routes_.end()) {
      std::string known;
      for (const auto& [path, handler] : server_.routes_) known += " " + path;
      co_return plain(404, "there is no such page; there are:" + known);
    }
    if (!asked.known_method) co_return plain(405, "only GET and HEAD are answered");
    deadline_.clear();
    co_return co_await route->second(asked.request);
  }

  HttpServer& server_;
  std::unique_ptr<Stream> stream_;
  LazyDeadline deadline_;
  std::string unread_;
  bool is_waiting_ = false;
};

namespace {

// Connections that are closing, or come in at once.
constexpr std::size_t kSpareSlots = 64;

}  // namespace

HttpServer::HttpServer(Executor executor, Clock& clock, const HttpLimits& limits)
    : executor_(std::move(executor)),
      clock_(clock),
      limits_(limits),
      slots_(limits.connections_max + kSpareSlots),
      listener_({executor_}, clock, slots_, *this) {}

HttpServer::~HttpServer() = default;

void HttpServer::route(std::string path, HttpHandler handler) {
  routes_[std::move(path)] = std::move(handler);
}

Status HttpServer::start(const ListenAddress& address) { return listener_.start(address); }

Task<void> HttpServer::serve(std::unique_ptr<Stream> stream, std::size_t) {
  if (sessions_.size() >= limits_.connections_max) make_room();
  Session session(*this, std::move(stream));
  auto place = sessions_.insert(sessions_.end(), &session);
  co_await session.run();
  sessions_.erase(place);
}

void HttpServer::make_room() {
  auto waiting = std::ranges::find_if(sessions_, &Session::is_waiting);
  if (waiting != sessions_.end()) (*waiting)->close();
}

Task<void> HttpServer::stop() {
  listener_.stop();
  co_await run_on(executor_, [this] {
    stopping_ = true;
    for (Session* session : sessions_) session->stop();
    return true;
  });
  co_await listener_.join();
}

}  // namespace weir::net

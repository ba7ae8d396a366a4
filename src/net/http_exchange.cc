#include "net/http_exchange.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::net {
namespace {

namespace http = boost::beast::http;
using Parser = http::response_parser<http::string_body>;

constexpr std::uint32_t kHeaderMax = 16 * 1024;
constexpr std::size_t kReadSize = 16 * 1024;

std::string head_of(const Origin& origin, const HttpCall& call) {
  std::string head =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", call.method, call.target, authority(origin));
  for (const auto& [name, value] : call.headers) head += name + ": " + value + "\r\n";
  if (!call.body.empty() || call.method == "PUT" || call.method == "POST") {
    head += fmt::format("Content-Length: {}\r\n", call.body.size());
  }
  return head + "\r\n";
}

HttpAnswer head_of_answer(const Parser& parser) {
  HttpAnswer answer;
  answer.status = parser.get().result_int();
  for (const auto& field : parser.get()) {
    std::string name(field.name_string().data(), field.name_string().size());
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    answer.headers.emplace_back(std::move(name),
                                std::string(field.value().data(), field.value().size()));
  }
  return answer;
}

// Reads one answer.
class AnswerReader {
 public:
  AnswerReader(Stream& stream, const Origin& origin, const HttpCall& call, ExchangeTrace& trace,
               std::function<void()>& progress)
      : stream_(stream), origin_(origin), call_(call), trace_(trace), progress_(progress) {}

  Task<Result<HttpAnswer>> read() {
    while (true) {
      renew_parser();
      while (!parser_->is_header_done()) WEIR_CO_CHECK(co_await feed());
      int status = parser_->get().result_int();
      // Interim answers come before the real one.
      if (status >= 200) break;
    }
    HttpAnswer answer = head_of_answer(*parser_);
    auto length = parser_->content_length();
    if (parser_->is_done()) {
      // HEAD, 204, 304, or an empty body.
    } else if (length) {
      WEIR_CO_TRY(answer.body, co_await read_body(*length));
    } else if (parser_->chunked()) {
      parser_->eager(true);
      while (!parser_->is_done()) WEIR_CO_CHECK(co_await feed());
      answer.body = Slice::copy_of(parser_->get().body());
    } else {
      co_return broken("an answer that does not say how long it is");
    }
    trace_.keep_alive = parser_->keep_alive() && unread_.empty();
    co_return answer;
  }

 private:
  void renew_parser() {
    parser_.emplace();
    parser_->header_limit(kHeaderMax);
    parser_->body_limit(call_.answer_max);
    parser_->skip(call_.method == "HEAD");
  }

  [[nodiscard]] std::unexpected<Error> broken(std::string_view what) const {
    return fail(ErrorCode::kUnavailable, fmt::format("{}: {}", to_string(origin_), what));
  }

  Task<Result<std::size_t>> receive(MutableBytes into, MutableBytes spill) {
    WEIR_CO_TRY(std::size_t count, co_await stream_.read_some(into, spill));
    if (count == 0) {
      co_return broken(trace_.answered ? "the connection ended within the answer"
                                       : "the connection ended before the answer");
    }
    trace_.answered = true;
    progress_();
    co_return count;
  }

  // Gives the parser what there is, or more.
  Task<Status> feed() {
    bool starved = unread_.empty() || needs_more_;
    if (starved) {
      std::array<std::byte, kReadSize> some;
      WEIR_CO_TRY(std::size_t count, co_await receive(some, {}));
      unread_ += as_text(Bytes(some).first(count));
    }
    boost::system::error_code error;
    unread_.erase(0, parser_->put(boost::asio::buffer(unread_), error));
    needs_more_ = error == http::error::need_more;
    if (error == http::error::body_limit) {
      co_return fail(ErrorCode::kExhausted,
                     fmt::format("{} sends more than the {} bytes that are expected",
                                 to_string(origin_), call_.answer_max));
    }
    if (error && !needs_more_) co_return broken("no HTTP answer: " + error.message());
    co_return Status();
  }

  // The rest of a body of known length goes where it stays.
  Task<Result<Slice>> read_body(ByteCount length) {
    Buffer body(length);
    std::size_t filled = std::min<std::size_t>(unread_.size(), length);
    std::ranges::copy(as_bytes(unread_).first(filled), body.bytes().begin());
    unread_.erase(0, filled);
    while (filled < length) {
      WEIR_CO_TRY(std::size_t count, co_await receive(body.bytes().subspan(filled), {}));
      filled += count;
    }
    co_return body.slice();
  }

  Stream& stream_;
  const Origin& origin_;
  const HttpCall& call_;
  ExchangeTrace& trace_;
  std::function<void()>& progress_;
  std::optional<Parser> parser_;
  std::string unread_;
  bool needs_more_ = false;  // than unread_ has
};

}  // namespace

std::string_view HttpAnswer::header(std::string_view name) const {
  auto at = std::ranges::find(headers, name,
                              [](const auto& field) { return std::string_view(field.first); });
  return at == headers.end() ? std::string_view() : std::string_view(at->second);
}

Task<Result<HttpAnswer>> exchange(Stream& stream, const Origin& origin, const HttpCall& call,
                                  ExchangeTrace& trace, std::function<void()> progress) {
  const std::string head = head_of(origin, call);
  PieceCursor cursor;
  cursor.add(as_bytes(head));
  for (const Slice& slice : call.body.slices()) cursor.add(slice.bytes());
  Status written;
  while (written && !cursor.done()) {
    Result<std::size_t> count = co_await stream.write_some(cursor.rest());
    if (!count) {
      written = std::unexpected(std::move(count).error());
      break;
    }
    cursor.advance(*count);
    progress();
  }
  // A server that refuses a request may answer and close before it has read the body.
  bool cancelled = !written && written.error().code == ErrorCode::kCancelled;
  if (cancelled) co_return std::unexpected(std::move(written).error());
  AnswerReader reader(stream, origin, call, trace, progress);
  Result<HttpAnswer> answer = co_await reader.read();
  if (written) co_return answer;
  trace.keep_alive = false;
  if (!answer) co_return std::unexpected(std::move(written).error());
  co_return answer;
}

}  // namespace weir::net

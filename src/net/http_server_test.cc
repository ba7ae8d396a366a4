#include "net/http_server.h"

#include "net/pipe.h"
#include "net/tcp_stream.h"
#include "runtime/rng.h"
#include "runtime/test_loop.h"

#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

namespace weir::net {
namespace {

using std::chrono::seconds;

Task<HttpResponse> slow_page(OneShot<bool> until) {
  co_await until.wait();
  co_return HttpResponse{.body = "slow\n"};
}

Task<HttpResponse> query_page(HttpRequest request) {
  co_return HttpResponse{.status = 503, .content_type = "text/x", .body = request.query};
}

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    limits_.header_max = 1000;
    server_ = std::make_unique<HttpServer>(context_.get_executor(), clock_, limits_);
    server_->route("/query", query_page);
    server_->route("/slow", [this](HttpRequest) { return slow_page(slow_); });
    connect();
  }
  void TearDown() override {
    slow_.set(true);
    client_->close();
    run_task(context_, server_->stop());
    EXPECT_TRUE(ended_);
  }
  void connect() {
    auto [client, server] = make_pipe({.capacity = 1 << 20});
    client_ = std::move(client);
    ended_ = false;
    auto serve = [](HttpServer& to, std::unique_ptr<Stream> stream, bool& ended) -> Task<void> {
      co_await to.serve(std::move(stream), 0);
      ended = true;
    };
    boost::asio::co_spawn(context_, serve(*server_, std::move(server), ended_),
                          boost::asio::detached);
  }
  void turn() {
    context_.restart();
    context_.poll();
  }
  void advance(Duration by) {
    turn();
    clock_.advance(by);
    turn();
  }
  // Sends and returns what came back by then; "(end)" when the server ended the connection.
  std::string ask(std::string_view text) {
    auto exchange = [](Stream& stream, Slice what, std::string& to) -> Task<void> {
      co_await write_all(stream, Chain(std::move(what)));
      std::array<std::byte, 4096> some;
      while (true) {
        auto count = co_await stream.read_some(some, {});
        if (!count) co_return;
        if (*count == 0) to += "(end)";
        if (*count == 0) co_return;
        to += as_text(Bytes(some).first(*count));
      }
    };
    std::string got;
    boost::asio::co_spawn(context_, exchange(*client_, Slice::copy_of(text), got),
                          boost::asio::detached);
    turn();
    client_->cancel_read();
    turn();
    return got;
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  HttpLimits limits_;
  OneShot<bool> slow_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<Stream> client_;
  bool ended_ = true;
};

TEST_F(HttpServerTest, AnswersRoutesAndKeepsTheConnection) {
  std::string want =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/x\r\nContent-Length: 7\r\n"
      "Connection: keep-alive\r\n\r\na=1&b=2";
  EXPECT_EQ(ask("GET /query?a=1&b=2 HTTP/1.1\r\nHost: x\r\n\r\n"), want);
  EXPECT_EQ(ask("GET /query?a=1&b=2 HTTP/1.1\r\nHost: x\r\n\r\n"), want);
  std::string close = ask("GET /query HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(close.contains("\r\nConnection: close\r\n"));
  EXPECT_TRUE(close.ends_with("\r\n\r\n(end)"));
}

TEST_F(HttpServerTest, ClientsThatSayNothingGiveWay) {
  std::vector<std::unique_ptr<Stream>> silent;
  for (std::size_t i = 0; i < 2 * limits_.connections_max; ++i) {
    ask("GET /que");
    silent.push_back(std::move(client_));
    connect();
  }
  EXPECT_TRUE(ask("GET /query?abc HTTP/1.1\r\n\r\n").ends_with("abc"));
  // The oldest ones went; the others may go on.
  client_ = std::move(silent.front());
  EXPECT_EQ(ask("ry?abc HTTP/1.1\r\n\r\n"), "(end)");
  client_ = std::move(silent.back());
  EXPECT_TRUE(ask("ry?abc HTTP/1.1\r\n\r\n").ends_with("abc"));
}

TEST_F(HttpServerTest, HeadHasTheLengthButNoBody) {
  std::string head = ask("HEAD /query?abc HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(head.contains("Content-Length: 3\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, OldClientsAreClosed) {
  EXPECT_TRUE(ask("GET /query HTTP/1.0\r\n\r\n").ends_with("Connection: close\r\n\r\n(end)"));
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  std::string both = ask("GET /query?1 HTTP/1.1\r\n\r\nGET /query?2 HTTP/1.1\r\n\r\n");
  EXPECT_LT(both.find("\r\n\r\n1"), both.find("\r\n\r\n2"));
  EXPECT_NE(both.find("\r\n\r\n2"), std::string::npos);
}

TEST_F(HttpServerTest, TakesARequestInPieces) {
  EXPECT_EQ(ask("GET /que"), "");
  EXPECT_EQ(ask("ry?x HTTP/1.1\r"), "");
  EXPECT_TRUE(ask("\n\r\n").ends_with("\r\n\r\nx"));
}

TEST_F(HttpServerTest, SaysWhatThereIs) {
  std::string answer = ask("GET /nothing HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_TRUE(answer.ends_with("there is no such page; there are: /query /slow\n"));
  answer = ask("POST /query HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_TRUE(answer.contains("\r\nAllow: GET, HEAD\r\n"));
}

TEST_F(HttpServerTest, RefusesWhatIsNoRequestAndCloses) {
  auto refused = [&](std::string_view text) {
    connect();
    std::string answer = ask(text);
    EXPECT_TRUE(answer.ends_with("(end)")) << text;
    return answer.substr(0, 12);
  };
  EXPECT_EQ(refused(std::string("\0\0\0\x10\0\x12\0\x03\r\n\r\n", 12)), "HTTP/1.1 400");
  EXPECT_EQ(refused("GET /query HTTP/9.9\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(refused("GET /query HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"), "HTTP/1.1 400");
  EXPECT_EQ(refused("GET /query HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
            "HTTP/1.1 400");
  EXPECT_EQ(refused("GET /query HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n"),
            "HTTP/1.1 431");
  // The end of the header need not be seen.
  EXPECT_EQ(refused("GET /" + std::string(100'000, 'x')), "HTTP/1.1 431");
}

TEST_F(HttpServerTest, ARequestMustComeInTime) {
  ask("GET /qu");
  advance(seconds(9));
  EXPECT_EQ(ask("e"), "");  // a trickle buys no time
  EXPECT_FALSE(ended_);
  advance(seconds(1));
  EXPECT_TRUE(ended_);
}

TEST_F(HttpServerTest, IdleConnectionsEnd) {
  ask("GET /query HTTP/1.1\r\n\r\n");
  advance(seconds(119));
  EXPECT_FALSE(ended_);
  advance(seconds(1));
  EXPECT_TRUE(ended_);
}

TEST_F(HttpServerTest, AHandlerMayTakeItsTimeAndStopWaitsForIt) {
  EXPECT_EQ(ask("GET /slow HTTP/1.1\r\n\r\n"), "");
  advance(seconds(1000));
  EXPECT_FALSE(ended_);
  run_task(context_, server_->stop());
  EXPECT_FALSE(ended_);
  slow_.set(true);
  EXPECT_TRUE(ask("").ends_with("Connection: close\r\n\r\nslow\n(end)"));
}

TEST_F(HttpServerTest, StopWakesIdleConnections) {
  turn();
  run_task(context_, server_->stop());
  EXPECT_EQ(ask(""), "(end)");
}

TEST_F(HttpServerTest, AnyBytesEndInAnAnswerOrAnEnd) {
  Rng rng(11);
  const std::string fine = "GET /query?1 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
  for (int round = 0; round < 2000; ++round) {
    connect();
    std::string bytes = fine;
    for (std::uint64_t i = rng.below(8); i > 0; --i) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.next());
    }
    bytes.resize(rng.below(4) == 0 ? rng.below(bytes.size()) : bytes.size());
    std::string answer = ask(bytes);
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 "));
    advance(seconds(10));
    advance(seconds(120));
    advance(seconds(10));
    ASSERT_TRUE(ended_) << round;
  }
}

TEST(HttpServer, ServesOverTcp) {
  boost::asio::io_context context;
  SystemClock clock;
  HttpServer server(context.get_executor(), clock);
  server.route("/query", query_page);
  ASSERT_TRUE(server.start({.host = "127.0.0.1", .port = 0}));
  auto stream = run_task(context, connect_tcp("127.0.0.1", server.port()));
  ASSERT_TRUE(stream);
  std::string_view request = "GET /query?hello HTTP/1.1\r\nConnection: close\r\n\r\n";
  ASSERT_TRUE(run_task(context, write_all(**stream, Chain(Slice::copy_of(request)))));
  std::string answer;
  std::array<std::byte, 1000> some;
  while (true) {
    auto count = run_task(context, (*stream)->read_some(some, {}));
    ASSERT_TRUE(count);
    if (*count == 0) break;
    answer += as_text(Bytes(some).first(*count));
  }
  EXPECT_TRUE(answer.ends_with("Connection: close\r\n\r\nhello")) << answer;
  (*stream)->close();
  run_task(context, server.stop());
}

}  // namespace
}  // namespace weir::net

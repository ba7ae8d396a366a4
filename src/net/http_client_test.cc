#include "net/http_client.h"

#include "net/fake_http.h"
#include "runtime/test_loop.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

using std::chrono::seconds;

TEST(HttpUrl, IsTakenApart) {
  auto url = parse_http_url("https://store.example:8443/a/b?c=d");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->origin, (Origin{true, "store.example", 8443}));
  EXPECT_EQ(url->target, "/a/b?c=d");
  EXPECT_EQ(parse_http_url("http://127.0.0.1")->origin, (Origin{false, "127.0.0.1", 80}));
  EXPECT_EQ(parse_http_url("https://[::1]?x")->origin, (Origin{true, "::1", 443}));
  EXPECT_EQ(parse_http_url("https://[::1]?x")->target, "/?x");
  for (const char* bad : {"ftp://a", "http://", "http://a:b", "http://a:0", "http://a:65536",
                          "http://user@host", "http://[::1", "http://a b", "store.example"}) {
    EXPECT_FALSE(parse_http_url(bad)) << bad;
  }
  EXPECT_EQ(authority({true, "h", 443}), "h");
  EXPECT_EQ(authority({false, "::1", 443}), "[::1]:443");
}

class HttpClientTest : public testing::Test {
 protected:
  Result<HttpAnswer> call(HttpCall call) {
    return run_in_time(context_, clock_, client_.call(std::move(call)),
                       std::chrono::milliseconds(100));
  }
  std::string body_of(const HttpCall& what) {
    auto answer = call(what);
    return answer ? std::string(as_text(answer->body.bytes())) : answer.error().to_string();
  }
  Error error_of(const HttpCall& what) {
    auto answer = call(what);
    EXPECT_FALSE(answer);
    return answer ? Error{} : answer.error();
  }
  void reply(FakeReply reply) {
    server_.set_handler([reply](const FakeRequest&) { return reply; });
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  FakeHttp server_{clock_, [](const FakeRequest&) { return FakeReply{.body = "hello"}; }};
  HttpClient client_{server_, clock_, {false, "h", 81}, {.connections_max = 2}};
};

TEST_F(HttpClientTest, SendsARequestAndReadsTheAnswer) {
  reply({.status = 404, .headers = {{"X-Thing", "a"}}, .body = "none"});
  HttpCall request{.method = "PUT", .target = "/a?b=c", .headers = {{"x-more", "1"}}};
  request.body.append(Slice::copy_of("two "));
  request.body.append(Slice::copy_of("slices"));
  auto answer = call(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->header("x-thing"), "a");
  EXPECT_EQ(answer->header("absent"), "");
  EXPECT_EQ(as_text(answer->body.bytes()), "none");
  const FakeRequest& seen = server_.seen().at(0);
  EXPECT_EQ(seen.method + " " + seen.target, "PUT /a?b=c");
  EXPECT_EQ(seen.header("host"), "h:81");
  EXPECT_EQ(seen.header("x-more"), "1");
  EXPECT_EQ(seen.header("content-length"), "10");
  EXPECT_EQ(seen.body, "two slices");
}

TEST_F(HttpClientTest, ReadsBodiesOfEveryForm) {
  std::string large(300'000, 'x');
  EXPECT_EQ(body_of({}), "hello");
  reply({.body = large});
  EXPECT_EQ(body_of({}), large);
  reply({.body = large.substr(0, 50'000), .chunked = true});
  EXPECT_EQ(body_of({}), large.substr(0, 50'000));
  reply({.headers = {{"Content-Length", "1234567890"}}});
  EXPECT_EQ(call({.method = "HEAD"})->header("content-length"), "1234567890");
  reply({.status = 204});
  EXPECT_EQ(call({.method = "DELETE"})->status, 204);
  reply({.raw = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"});
  EXPECT_EQ(body_of({.method = "PUT"}), "ok");
  EXPECT_EQ(server_.connections(), 1U);
}

TEST_F(HttpClientTest, RefusesWhatIsTooLargeOrNoAnswer) {
  for (bool chunked : {false, true}) {
    reply({.body = std::string(11, 'x'), .chunked = chunked});
    EXPECT_EQ(error_of({.answer_max = 10}).code, ErrorCode::kExhausted);
    EXPECT_EQ(body_of({.answer_max = 11}).size(), 11U);
  }
  reply({.raw = "SSH-2.0-OpenSSH_9.2\r\n"});
  EXPECT_EQ(error_of({}).code, ErrorCode::kUnavailable);
  reply({.close = true, .raw = "HTTP/1.1 200 OK\r\n\r\nwithout a length"});
  EXPECT_NE(error_of({}).message.find("how long"), std::string::npos);
  reply({.headers = {{"X", std::string(20'000, 'x')}}});
  EXPECT_EQ(error_of({}).code, ErrorCode::kUnavailable);
}

TEST_F(HttpClientTest, ATruncatedAnswerIsAnErrorAtEveryByte) {
  const std::string whole = "HTTP/1.1 200 Status\r\nContent-Length: 5\r\n\r\nhello";
  for (bool chunked : {false, true}) {
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      reply({.body = "hello", .cut_at = cut, .chunked = chunked});
      EXPECT_EQ(error_of({.repeatable = false}).code, ErrorCode::kUnavailable) << cut;
    }
  }
}

TEST_F(HttpClientTest, KeepsConnectionsForAWhile) {
  call({});
  call({});
  EXPECT_EQ(server_.connections(), 1U);
  clock_.advance(seconds(16));
  call({});
  EXPECT_EQ(server_.connections(), 2U);
  reply({.headers = {{"Connection", "close"}}});
  call({});
  call({});
  EXPECT_EQ(server_.connections(), 3U);
}

TEST_F(HttpClientTest, AKeptConnectionThatTheServerClosedIsReplaced) {
  reply({.body = "first", .close = true});
  EXPECT_EQ(body_of({}), "first");
  reply({.body = "second"});
  EXPECT_EQ(body_of({}), "second");
  EXPECT_EQ(server_.connections(), 2U);
  // The server may have seen the request: one that must not run twice is not sent again.
  reply({.close = true});
  call({});
  Error lost = error_of({.method = "PUT", .repeatable = false});
  EXPECT_EQ(lost.code, ErrorCode::kUnavailable);
  // Nor is one that a fresh connection lost.
  reply({.cut_at = 0});
  server_.forget();
  EXPECT_EQ(error_of({}).code, ErrorCode::kUnavailable);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(HttpClientTest, SilenceAndSlownessEnd) {
  MonoTime start = clock_.now();
  reply({.cut_at = 0, .hang_after_cut = true});
  EXPECT_EQ(error_of({}).code, ErrorCode::kTimeout);
  EXPECT_EQ(clock_.now() - start, seconds(10));
  reply({.body = "hello", .cut_at = 44, .hang_after_cut = true});
  Error stalled = error_of({});
  EXPECT_EQ(stalled.code, ErrorCode::kTimeout);
  EXPECT_NE(stalled.message.find("whole answer"), std::string::npos) << stalled.message;
  reply({.delay = seconds(5)});
  EXPECT_EQ(error_of({.time_max = seconds(2)}).code, ErrorCode::kTimeout);
  server_.set_reach(FakeHttp::Reach::kSilent);
  start = clock_.now();
  EXPECT_EQ(error_of({}).code, ErrorCode::kTimeout);
  EXPECT_EQ(clock_.now() - start, seconds(5));
  server_.set_reach(FakeHttp::Reach::kRefused);
  EXPECT_EQ(error_of({}).code, ErrorCode::kUnavailable);
  server_.set_reach(FakeHttp::Reach::kOpen);
  reply({.body = "again"});
  EXPECT_EQ(body_of({}), "again");
}

TEST_F(HttpClientTest, CallsBeyondTheConnectionsWaitInOrder) {
  std::vector<std::string> order;
  server_.set_handler([&](const FakeRequest& request) {
    order.push_back(request.target);
    return FakeReply{.delay = seconds(1)};
  });
  int done = 0;
  for (const char* target : {"/1", "/2", "/3", "/4", "/5"}) {
    boost::asio::co_spawn(
        context_, client_.call({.target = target}),
        [&](const std::exception_ptr&, const Result<HttpAnswer>& got) { done += got ? 1 : 0; });
    context_.restart();
    context_.poll();
  }
  EXPECT_EQ(order.size(), 2U);
  for (int i = 0; i < 3; ++i) {
    clock_.advance(seconds(1));
    context_.restart();
    context_.poll();
  }
  EXPECT_EQ(done, 5);
  EXPECT_EQ(order, (std::vector<std::string>{"/1", "/2", "/3", "/4", "/5"}));
  EXPECT_EQ(server_.connections(), 2U);
}

}  // namespace
}  // namespace weir::net

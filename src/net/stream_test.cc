// The same expectations of both kinds of stream.
#include "net/stream.h"

#include "net/pipe.h"
#include "net/tcp_stream.h"
#include "runtime/oneshot.h"
#include "runtime/test_loop.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Pair = std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>>;

Task<Pair> tcp_pair() {
  auto executor = co_await asio::this_coro::executor;
  tcp::acceptor acceptor(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  OneShot<std::unique_ptr<Stream>> client;
  auto connect = [](OneShot<std::unique_ptr<Stream>> to, std::uint16_t port) -> Task<void> {
    auto stream = co_await connect_tcp("127.0.0.1", port);
    to.set(stream ? std::move(*stream) : nullptr);
  };
  asio::co_spawn(executor, connect(client, acceptor.local_endpoint().port()), asio::detached);
  tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
  auto server = make_tcp_stream(std::move(socket));
  Pair pair;
  pair.first = std::move(*server);
  pair.second = co_await client.wait();
  co_return pair;
}

class StreamTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      std::tie(a_, b_) = run_task(context_, tcp_pair());
    } else {
      std::tie(a_, b_) = make_pipe({.capacity = 1000});
    }
  }

  std::string read_text(Stream& stream, std::size_t count) {
    std::vector<std::byte> bytes(count);
    Status status = run_task(context_, read_exactly(stream, bytes));
    return status ? std::string(as_text(bytes)) : status.error().to_string();
  }

  // Starts a call and leaves it in progress; its result comes later, through turn().
  template <typename T>
  void start(Task<T> task, std::optional<T>& to) {
    auto run = [](Task<T> inner, std::optional<T>* out) -> Task<void> {
      out->emplace(co_await std::move(inner));
    };
    asio::co_spawn(context_, run(std::move(task), &to), asio::detached);
    turn();
  }
  void turn() {
    context_.restart();
    context_.run_for(std::chrono::milliseconds(20));
  }

  asio::io_context context_;
  std::unique_ptr<Stream> a_;
  std::unique_ptr<Stream> b_;
};

TEST_P(StreamTest, GathersMoreSlicesThanOneCallTakes) {
  Chain chain;
  std::string want;
  for (int i = 0; i < 200; ++i) {
    std::string text = fmt::format("slice {};", i);
    chain.append(Slice::copy_of(text));
    want += text;
  }
  std::optional<Status> written;
  start(write_all(*a_, chain), written);
  EXPECT_EQ(read_text(*b_, want.size()), want);
  turn();
  ASSERT_TRUE(written);
  EXPECT_TRUE(*written);
}

TEST_P(StreamTest, SpillTakesWhatIsLeftOver) {
  ASSERT_TRUE(run_task(context_, write_all(*a_, Chain(Slice::copy_of("headbodynext")))));
  turn();
  std::array<std::byte, 8> into{};
  std::array<std::byte, 100> spill{};
  auto count = run_task(context_, b_->read_some(into, spill));
  ASSERT_TRUE(count);
  EXPECT_EQ(*count, 12U);
  EXPECT_EQ(as_text(into), "headbody");
  EXPECT_EQ(as_text(spill).substr(0, 4), "next");
}

TEST_P(StreamTest, ReadsTheEndAfterShutdownAndStillAnswers) {
  ASSERT_TRUE(run_task(context_, write_all(*a_, Chain(Slice::copy_of("last")))));
  a_->shutdown_send();
  EXPECT_EQ(read_text(*b_, 4), "last");
  std::array<std::byte, 8> into{};
  auto end = run_task(context_, b_->read_some(into, {}));
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, 0U);
  ASSERT_TRUE(run_task(context_, write_all(*b_, Chain(Slice::copy_of("answer")))));
  EXPECT_EQ(read_text(*a_, 6), "answer");
  EXPECT_EQ(run_task(context_, read_exactly(*b_, into)).error().code, ErrorCode::kUnavailable);
}

TEST_P(StreamTest, CancelledReadLeavesTheStreamUsable) {
  std::array<std::byte, 8> into{};
  std::optional<Result<std::size_t>> read;
  a_->cancel_read();  // nothing is in progress: no effect on later reads
  start(a_->read_some(into, {}), read);
  ASSERT_FALSE(read);
  a_->cancel_read();
  turn();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->error().code, ErrorCode::kCancelled);
  ASSERT_TRUE(run_task(context_, write_all(*b_, Chain(Slice::copy_of("more")))));
  EXPECT_EQ(read_text(*a_, 4), "more");
}

TEST_P(StreamTest, CloseEndsCallsInProgressAndTheOtherSideSees) {
  std::array<std::byte, 8> into{};
  std::optional<Result<std::size_t>> read;
  start(a_->read_some(into, {}), read);
  std::optional<Status> written;
  start(write_all(*a_, Chain(Buffer(64 << 20).slice())), written);  // more than any buffer takes
  ASSERT_FALSE(written);
  a_->close();
  a_->close();
  turn();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->error().code, ErrorCode::kCancelled);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->error().code, ErrorCode::kCancelled);
  EXPECT_EQ(run_task(context_, a_->read_some(into, {})).error().code, ErrorCode::kCancelled);

  // The other side reads what came before the close, and then cannot write for long.
  std::vector<std::byte> sink(1 << 20);
  Result<std::size_t> rest = 1;
  while (rest && *rest > 0) rest = run_task(context_, b_->read_some(sink, {}));
  Status status;
  for (int i = 0; status && i < 100; ++i) {
    status = run_task(context_, write_all(*b_, Chain(Slice::copy_of("x"))));
    turn();
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
}

TEST_P(StreamTest, AWriterWaitsForItsReader) {
  Buffer much(8 << 20);
  std::ranges::fill(much.bytes(), std::byte{7});
  std::optional<Status> written;
  start(write_all(*a_, Chain(much.slice())), written);
  EXPECT_FALSE(written);
  std::vector<std::byte> got(GetParam() ? much.size() : 100'000);
  ASSERT_TRUE(run_task(context_, read_exactly(*b_, got)));
  EXPECT_EQ(std::ranges::count(got, std::byte{7}), static_cast<std::ptrdiff_t>(got.size()));
  EXPECT_EQ(written.has_value(), GetParam());
  a_->close();
  turn();
}

INSTANTIATE_TEST_SUITE_P(Kinds, StreamTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Tcp" : "Pipe"; });

TEST(TcpStream, NamesAddresses) {
  auto endpoint = [](const char* address) {
    return to_string(tcp::endpoint(asio::ip::make_address(address), 9092));
  };
  EXPECT_EQ(endpoint("10.0.0.7"), "10.0.0.7:9092");
  EXPECT_EQ(endpoint("::1"), "[::1]:9092");
  EXPECT_EQ(endpoint("::ffff:10.0.0.7"), "10.0.0.7:9092");
}

TEST(TcpStream, SaysWhyItCannotConnect) {
  auto bad_name = run_task(connect_tcp("example", 1));
  EXPECT_EQ(bad_name.error().code, ErrorCode::kInvalid);
  auto refused = run_task(connect_tcp("127.0.0.1", 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().to_string(), "unavailable: connect to 127.0.0.1:1: Connection refused");
}

}  // namespace
}  // namespace weir::net

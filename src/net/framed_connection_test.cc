#include "net/framed_connection.h"

#include "base/byte_writer.h"
#include "net/pipe.h"
#include "runtime/rng.h"
#include "runtime/test_loop.h"

#include <boost/asio/detached.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace weir::net {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Slice frame_of(std::string_view body) {
  ByteWriter writer;
  writer.u32(static_cast<std::uint32_t>(body.size()));
  writer.text(body);
  return writer.to_slice();
}

std::string wire(std::initializer_list<std::string_view> bodies) {
  std::string out;
  for (std::string_view body : bodies) out += as_text(frame_of(body).bytes());
  return out;
}

// Notes requests; the test answers them.
class ScriptedHandler final : public RequestHandler {
 public:
  void opened(ConnectionContext& context) override {
    context.state = std::make_shared<std::string>("state of " + context.peer);
  }
  Task<Pending> start(Request request, ConnectionContext& context) override {
    last_context = context;
    if (echo) {
      Pending answered;
      answered.set(Chain(frame_of(as_text(request.frame.bytes()))));
      ++echoed;
      co_return answered;
    }
    requests.emplace_back(as_text(request.frame.bytes()));
    if (hold) co_await hold->wait();
    pending.emplace_back();
    if (refuse.contains(requests.back())) {
      pending.back().set(fail(ErrorCode::kInvalid, "refused"));
    }
    co_return pending.back();
  }
  void answer(std::size_t index, std::string_view body) {
    pending[index].set(Chain(frame_of(body)));
  }

  [[nodiscard]] bool is_short_of_memory() const override { return is_short; }

  bool is_short = false;
  bool echo = false;  // answer by itself
  int echoed = 0;
  std::vector<std::string> requests;
  std::set<std::string> refuse;  // at once
  std::vector<Pending> pending;
  std::optional<OneShot<bool>> hold;  // stage 1 lasts until it is set
  ConnectionContext last_context;
};

// Counts the writes, to see what is written together.
class CountingStream final : public Stream {
 public:
  CountingStream(std::unique_ptr<Stream> inner, int& writes)
      : inner_(std::move(inner)), writes_(writes) {}
  Task<Result<std::size_t>> read_some(MutableBytes into, MutableBytes spill) override {
    return inner_->read_some(into, spill);
  }
  Task<Result<std::size_t>> write_some(std::span<const Bytes> pieces) override {
    ++writes_;
    return inner_->write_some(pieces);
  }
  void cancel_read() override { inner_->cancel_read(); }
  void shutdown_send() override { inner_->shutdown_send(); }
  void close() override { inner_->close(); }
  [[nodiscard]] const std::string& peer() const override { return inner_->peer(); }
  [[nodiscard]] std::uint16_t local_port() const override { return inner_->local_port(); }

 private:
  std::unique_ptr<Stream> inner_;
  int& writes_;
};

class FramedConnectionTest : public testing::Test {
 protected:
  void TearDown() override {
    connection_->abort({ErrorCode::kCancelled, "the test ends"});
    turn();
    EXPECT_TRUE(ended_);
    EXPECT_EQ(budget_.used(), 0U);
  }
  void open(std::size_t pipe = 64 * 1024) {
    auto [client, server] =
        make_pipe({.capacity = pipe, .peer = "10.0.0.7:5000", .local_port = 9092});
    client_ = std::move(client);
    ConnectionContext context;
    context.id = 7;
    context.listener = "PLAINTEXT";
    context.executor = context_.get_executor();
    connection_ = std::make_unique<FramedConnection>(
        std::make_unique<CountingStream>(std::move(server), writes_), services_,
        std::move(context));
    auto run = [](FramedConnection& connection, std::optional<Status>& ended) -> Task<void> {
      ended = co_await connection.run();
    };
    boost::asio::co_spawn(context_, run(*connection_, ended_), boost::asio::detached);
    turn();
  }
  void turn() {
    context_.restart();
    context_.poll();
  }
  void advance(Duration by) {
    clock_.advance(by);
    turn();
  }
  void send(std::string_view text) {
    auto write = [](Stream& to, Slice what) -> Task<void> {
      co_await write_all(to, Chain(std::move(what)));
    };
    boost::asio::co_spawn(context_, write(*client_, Slice::copy_of(text)), boost::asio::detached);
    turn();
  }
  // What the connection has written by now; "(end)" after it when it has ended its side.
  std::string received() {
    auto read = [](Stream& from, std::string& to, bool& done) -> Task<void> {
      std::array<std::byte, 4096> some;
      while (!done) {
        auto count = co_await from.read_some(some, {});
        if (!count) co_return;
        if (*count == 0) to += "(end)";
        if (*count == 0) co_return;
        to += as_text(Bytes(some).first(*count));
      }
    };
    std::string text;
    bool done = false;
    boost::asio::co_spawn(context_, read(*client_, text, done), boost::asio::detached);
    turn();
    done = true;
    client_->cancel_read();
    turn();
    return text;
  }
  void take_some() {
    auto read = [](Stream& from) -> Task<void> {
      std::array<std::byte, 4096> some;
      co_await from.read_some(some, {});
    };
    boost::asio::co_spawn(context_, read(*client_), boost::asio::detached);
    turn();
  }
  std::string ended() {
    if (!ended_) return "(runs)";
    return *ended_ ? "ok" : ended_->error().to_string();
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  ByteBudget budget_{64_MiB};
  ScriptedHandler handler_;
  MetricsRegistry registry_;
  ConnectionLimits limits_;
  ConnectionMetrics metrics_{registry_, "PLAINTEXT"};
  ConnectionServices services_{clock_, budget_, handler_, limits_, metrics_};
  int writes_ = 0;
  std::unique_ptr<Stream> client_;
  std::unique_ptr<FramedConnection> connection_;
  std::optional<Status> ended_;
};

TEST_F(FramedConnectionTest, AnswersInTheOrderOfTheRequests) {
  open();
  send(wire({"r0", "r1", "r2", "r3"}));
  EXPECT_EQ(handler_.requests, (std::vector<std::string>{"r0", "r1", "r2", "r3"}));
  handler_.answer(2, "a2");
  handler_.answer(1, "a1");
  EXPECT_EQ(received(), "");
  EXPECT_EQ(writes_, 0);
  handler_.answer(0, "a0");
  EXPECT_EQ(received(), wire({"a0", "a1", "a2"}));
  EXPECT_EQ(writes_, 1);  // all that were ready
  handler_.answer(3, "a3");
  EXPECT_EQ(received(), wire({"a3"}));
  EXPECT_EQ(metrics_.requests.value(), 4U);
  EXPECT_EQ(metrics_.received_bytes.value(), 8U);
  EXPECT_EQ(metrics_.sent_bytes.value(), 24U);
}

TEST_F(FramedConnectionTest, TellsTheHandlerAboutTheConnection) {
  open();
  send(wire({"r0"}));
  const ConnectionContext& seen = handler_.last_context;
  EXPECT_EQ(seen.id, 7U);
  EXPECT_EQ(seen.listener, "PLAINTEXT");
  EXPECT_EQ(seen.peer, "10.0.0.7:5000");
  EXPECT_EQ(seen.local_port, 9092);
  EXPECT_EQ(*std::static_pointer_cast<std::string>(seen.state), "state of 10.0.0.7:5000");
  EXPECT_FALSE(seen.closed.stop_requested());
}

TEST_F(FramedConnectionTest, ARequestMayHaveNoResponse) {
  open();
  send(wire({"r0", "acks=0", "r2"}));
  handler_.answer(0, "a0");
  handler_.answer(2, "a2");
  handler_.pending[1].set(std::nullopt);
  EXPECT_EQ(received(), wire({"a0", "a2"}));
  client_->shutdown_send();
  EXPECT_EQ(received(), "(end)");
  EXPECT_EQ(ended(), "ok");
}

TEST_F(FramedConnectionTest, AnErrorClosesAfterTheEarlierResponses) {
  open();
  send(wire({"r0", "r1", "r2"}));
  handler_.pending[1].set(fail(ErrorCode::kInvalid, "no such api"));
  handler_.answer(2, "a2");
  EXPECT_EQ(received(), "");
  handler_.answer(0, "a0");
  EXPECT_EQ(received(), wire({"a0"}) + "(end)");
  EXPECT_TRUE(handler_.last_context.closed.stop_requested());
  send(wire({"r3"}));
  EXPECT_EQ(handler_.requests.size(), 3U);
  client_->close();
  turn();
  EXPECT_EQ(ended(), "invalid: no such api");
}

// A producer's batches stand in the order of its requests: none takes the place of one before it.
TEST_F(FramedConnectionTest, WhatIsBehindARefusedRequestIsNotStarted) {
  open();
  handler_.refuse.insert("r1");
  send(wire({"r0", "r1", "r2"}));
  EXPECT_EQ(handler_.requests, (std::vector<std::string>{"r0", "r1"}));
  EXPECT_EQ(received(), "");
  handler_.answer(0, "a0");
  EXPECT_EQ(received(), wire({"a0"}) + "(end)");
  client_->close();
  turn();
  EXPECT_EQ(ended(), "invalid: refused");
}

TEST_F(FramedConnectionTest, TheNextRequestWaitsForStageOne) {
  open();
  handler_.hold.emplace();
  OneShot<bool> first = *handler_.hold;
  send(wire({"r0", "r1"}));
  EXPECT_EQ(handler_.requests.size(), 1U);
  advance(minutes(60));  // the broker's own slowness is not idleness
  handler_.hold.reset();
  first.set(true);
  turn();
  EXPECT_EQ(handler_.requests.size(), 2U);
  EXPECT_EQ(ended(), "(runs)");
}

TEST_F(FramedConnectionTest, ReadsNoMoreThanTheLimitOfUnansweredRequests) {
  limits_.unanswered_max = 256;
  open(1 << 20);
  std::string many;
  for (int i = 0; i < 5000; ++i) many += wire({fmt::format("r{}", i)});
  send(many);
  EXPECT_EQ(handler_.requests.size(), 256U);
  std::string want;
  for (std::size_t i = 0; i < 5000; ++i) {
    ASSERT_LT(i, handler_.pending.size());
    handler_.answer(i, fmt::format("a{}", i));
    want += wire({fmt::format("a{}", i)});
    turn();
    ASSERT_LE(handler_.requests.size(), i + 1 + 256);
  }
  EXPECT_EQ(handler_.requests.size(), 5000U);
  EXPECT_EQ(received(), want);
  EXPECT_EQ(budget_.used(), 0U);
}

TEST_F(FramedConnectionTest, ReadsNoRequestsWhileTheClientTakesNoResponses) {
  limits_.unsent_max = 10'000;
  open(1000);
  send(wire({"r0"}));
  handler_.answer(0, std::string(50'000, 'a'));
  send(wire({"r1"}));
  EXPECT_EQ(handler_.requests.size(), 2U);  // the reader was waiting in the socket
  handler_.answer(1, "a1");
  send(wire({"r2"}));
  EXPECT_EQ(handler_.requests.size(), 2U);
  EXPECT_EQ(received(), wire({std::string(50'000, 'a'), "a1"}));
  EXPECT_EQ(handler_.requests.size(), 3U);
}

// Responses that are ready wait behind one that is not.
TEST_F(FramedConnectionTest, ReadsNoRequestsWhileManyResponsesAreReady) {
  limits_.unsent_max = 10'000;
  open();
  send(wire({"slow"}));
  handler_.echo = true;
  const std::string large(4000, 'r');
  send(wire({large, large, large, large, large}));
  EXPECT_EQ(handler_.echoed, 3);
  handler_.answer(0, "a");
  EXPECT_EQ(received(), wire({"a", large, large, large, large, large}));
}

TEST_F(FramedConnectionTest, ClosesWhenIdle) {
  open();
  advance(minutes(9));
  send(wire({"r0"}));
  advance(minutes(9));
  handler_.answer(0, "a0");
  EXPECT_EQ(received(), wire({"a0"}));
  advance(minutes(9));
  EXPECT_EQ(ended(), "(runs)");
  advance(minutes(2));
  EXPECT_EQ(ended(), "timed out: idle for connections.max.idle.ms");
  EXPECT_EQ(received(), "(end)");
}

TEST_F(FramedConnectionTest, IdlenessMayBeUnlimited) {
  limits_.idle = std::chrono::milliseconds(-1);  // as Kafka takes it
  open();
  advance(minutes(100'000));
  EXPECT_EQ(ended(), "(runs)");
}

TEST_F(FramedConnectionTest, WaitingForTheBrokerIsNotIdle) {
  open();
  send(wire({"long poll"}));
  for (int i = 0; i < 10; ++i) advance(minutes(11));
  EXPECT_EQ(ended(), "(runs)");
  handler_.answer(0, "a0");
  EXPECT_EQ(received(), wire({"a0"}));
}

TEST_F(FramedConnectionTest, AClientThatReadsNoResponsesIsClosed) {
  open(1000);
  send(wire({"r0", "r1"}));
  handler_.answer(0, std::string(50'000, 'a'));
  turn();
  for (int i = 0; i < 3; ++i) advance(minutes(4));
  EXPECT_EQ(ended(), "timed out: idle for connections.max.idle.ms");
  EXPECT_TRUE(handler_.pending[1].is_set());  // refused: nobody waits for it
  EXPECT_TRUE(handler_.last_context.closed.stop_requested());
}

TEST_F(FramedConnectionTest, AResponseIsNotKeptFromThoseThatWaitForItsMemory) {
  open(1000);
  send(wire({"r0"}));
  handler_.answer(0, std::string(50'000, 'a'));
  turn();
  advance(minutes(2));
  EXPECT_EQ(ended(), "(runs)");
  handler_.is_short = true;
  advance(seconds(5));
  EXPECT_EQ(ended(),
            "timed out: only 0 bytes of a response were taken within 5 s while others wait "
            "for the memory");
}

TEST_F(FramedConnectionTest, WhoTakesAResponseSlowlyHasTimeForIt) {
  limits_.taken_min = 10'000;
  open(1000);
  handler_.is_short = true;
  send(wire({"r0"}));
  handler_.answer(0, std::string(100'000, 'a'));
  turn();
  // 3000 bytes a second, the pipe's capacity three times, are more than it must be. In the end it
  // takes no more.
  for (int i = 0; i < 25; ++i) {
    for (int n = 0; n < 3; ++n) take_some();
    advance(seconds(1));
    ASSERT_EQ(ended(), "(runs)") << i;
  }
  for (int i = 0; i < 2; ++i) advance(seconds(5));
  EXPECT_NE(ended(), "(runs)");
}

TEST_F(FramedConnectionTest, DrainAnswersWhatWasReadAndNoMore) {
  open();
  send(wire({"r0", "r1"}) + std::string("\0\0\0\4r", 5));
  connection_->drain();
  send("ead" + wire({"r3"}));
  EXPECT_EQ(handler_.requests.size(), 2U);
  handler_.answer(0, "a0");
  EXPECT_EQ(received(), wire({"a0"}));
  EXPECT_EQ(ended(), "(runs)");
  handler_.answer(1, "a1");
  EXPECT_EQ(received(), wire({"a1"}) + "(end)");
  EXPECT_EQ(ended(), "(runs)");  // until the client has seen the end
  advance(seconds(1));
  EXPECT_EQ(ended(), "ok");
  EXPECT_EQ(budget_.used(), 0U);
}

TEST_F(FramedConnectionTest, AClientMayEndItsSideAndReadTheResponses) {
  open();
  send(wire({"r0"}));
  client_->shutdown_send();
  turn();
  advance(seconds(4));
  EXPECT_EQ(ended(), "(runs)");
  handler_.answer(0, "a0");
  EXPECT_EQ(received(), wire({"a0"}) + "(end)");
  EXPECT_EQ(ended(), "ok");
}

TEST_F(FramedConnectionTest, AClientThatEndedIsNotWaitedForLong) {
  open();
  send(wire({"r0"}));
  client_->shutdown_send();
  turn();
  advance(seconds(5));
  EXPECT_EQ(ended(), "timed out: the client ended before its responses were ready");
  EXPECT_TRUE(handler_.last_context.closed.stop_requested());
}

TEST_F(FramedConnectionTest, AbortEndsAtOnce) {
  open();
  handler_.hold.emplace();
  send(wire({"r0"}));
  connection_->abort({ErrorCode::kCancelled, "the broker stops"});
  turn();
  EXPECT_TRUE(handler_.last_context.closed.stop_requested());
  EXPECT_EQ(ended(), "(runs)");  // a stage 1 is never left behind
  handler_.hold->set(true);
  turn();
  EXPECT_EQ(ended(), "cancelled: the broker stops");
  EXPECT_TRUE(handler_.pending[0].is_set());
}

TEST_F(FramedConnectionTest, EndsWhenThePeerIsGone) {
  open();
  send(wire({"r0"}));
  client_->close();
  handler_.answer(0, "a0");
  turn();
  EXPECT_EQ(ended(), "unavailable: 10.0.0.7:5000 closed the connection");
  EXPECT_TRUE(handler_.last_context.closed.stop_requested());
}

TEST_F(FramedConnectionTest, BadBytesCloseTheConnection) {
  open();
  send(wire({"r0"}) + "GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_EQ(ended().substr(0, 32), "invalid: a request of 1195725856");
  EXPECT_EQ(received(), "(end)");
}

// Whatever bytes come, cut wherever: the connection ends, by itself or in time, and holds little
// meanwhile.
TEST_F(FramedConnectionTest, AnyBytesEndWithinLimits) {
  Rng rng(3);
  limits_.frame.size_max = 2_MiB;
  handler_.echo = true;
  for (int round = 0; round < 1000; ++round) {
    open();
    ByteWriter noise;
    for (std::uint64_t part = rng.below(6); part > 0; --part) {
      std::string body(rng.below(3000), static_cast<char>(rng.next()));
      // A true size, a size a little or far off, or none.
      constexpr std::array<std::int64_t, 6> kOff = {0, 0, 0, -1, 100, 100'000};
      std::int64_t size = static_cast<std::int64_t>(body.size()) + kOff[rng.below(kOff.size())];
      if (rng.below(5) > 0) noise.i32(static_cast<std::int32_t>(size));
      if (rng.below(20) == 0) noise.u64(rng.next());
      noise.text(body);
    }
    std::string_view bytes = as_text(noise.view());
    while (!bytes.empty()) {
      std::size_t count = std::min<std::size_t>(bytes.size(), 1 + rng.below(5000));
      send(bytes.substr(0, count));
      bytes.remove_prefix(count);
      if (rng.below(10) == 0) received();
      ASSERT_LE(budget_.used(), 1_MiB);
    }
    if (rng.below(2) == 0) client_->shutdown_send();
    received();
    advance(seconds(31));
    received();
    advance(minutes(11));
    ASSERT_NE(ended(), "(runs)") << "round " << round;
    ASSERT_EQ(budget_.used(), 0U);
    ended_.reset();
  }
  ended_ = Status();
}

}  // namespace
}  // namespace weir::net

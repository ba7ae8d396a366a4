#include "net/frame_reader.h"

#include "base/byte_writer.h"
#include "net/pipe.h"
#include "runtime/test_loop.h"

#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

namespace weir::net {
namespace {

using std::chrono::seconds;
using Next = Result<std::optional<Frame>>;

Slice frame_of(std::string_view body) {
  ByteWriter writer;
  writer.u32(static_cast<std::uint32_t>(body.size()));
  writer.text(body);
  return writer.to_slice();
}

Slice size_only(std::int32_t size) {
  ByteWriter writer;
  writer.i32(size);
  return writer.to_slice();
}

class FrameReaderTest : public testing::Test {
 protected:
  void open(ByteCount budget = 64_MiB, std::size_t pipe = 64 * 1024) {
    budget_ = std::make_unique<ByteBudget>(budget);
    std::tie(client_, server_) = make_pipe({.capacity = pipe});
    reader_ =
        std::make_unique<FrameReader>(*server_, clock_, *budget_, limits_, context_.get_executor());
  }
  void turn() {
    context_.restart();
    context_.poll();
  }
  void advance(Duration by) {
    clock_.advance(by);
    turn();
  }
  void send(Slice slice) {
    auto write = [](Stream& to, Slice what) -> Task<void> {
      co_await write_all(to, Chain(std::move(what)));
    };
    boost::asio::co_spawn(context_, write(*client_, std::move(slice)), boost::asio::detached);
    turn();
  }
  void send(std::string_view text) { send(Slice::copy_of(text)); }
  // Starts the next next(); its result comes with a later turn().
  void ask() {
    next_.reset();
    auto read = [](FrameReader& reader, std::optional<Next>& to) -> Task<void> {
      to = co_await reader.next();
    };
    boost::asio::co_spawn(context_, read(*reader_, next_), boost::asio::detached);
    turn();
  }
  std::string text() {
    if (!next_) return "(waits)";
    if (!*next_) return (*next_).error().to_string();
    return **next_ ? std::string(as_text((**next_)->bytes.bytes())) : "(end)";
  }
  std::string ask_text() {
    ask();
    return text();
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  FrameLimits limits_;
  std::unique_ptr<ByteBudget> budget_;
  std::unique_ptr<Stream> client_;
  std::unique_ptr<Stream> server_;
  std::unique_ptr<FrameReader> reader_;
  std::optional<Next> next_;
};

TEST_F(FrameReaderTest, CutsFramesWhereverTheBytesAreSplit) {
  std::string long_body(10'000, 'x');
  std::string wire;
  for (std::string_view body : {std::string_view("a"), std::string_view("bcd"),
                                std::string_view(long_body), std::string_view("e")}) {
    wire += as_text(frame_of(body).bytes());
  }
  for (std::size_t step : {1, 3, 5, 4096, 4097, 20'000}) {
    open();
    std::vector<std::string> got;
    ask();
    for (std::size_t at = 0; at < wire.size(); at += step) {
      send(std::string_view(wire).substr(at, step));
      for (; next_; ask()) got.push_back(text());
    }
    EXPECT_EQ(got, (std::vector<std::string>{"a", "bcd", long_body, "e"})) << step;
    client_->shutdown_send();
    turn();
    EXPECT_EQ(text(), "(end)");
    EXPECT_EQ(budget_->used(), 0U);
  }
}

TEST_F(FrameReaderTest, RefusesSizesThatNoClientSends) {
  limits_.size_max = 1000;
  auto refusal = [&](Slice bytes) {
    open();
    send(std::move(bytes));
    return ask_text();
  };
  EXPECT_EQ(refusal(size_only(0)),
            "invalid: a request of 0 bytes is announced, 1 to 1000 (socket.request.max.bytes) are "
            "allowed");
  EXPECT_EQ(refusal(size_only(-1)).substr(0, 25), "invalid: a request of -1 ");
  EXPECT_EQ(refusal(size_only(INT32_MIN)).substr(0, 34), "invalid: a request of -2147483648 ");
  EXPECT_EQ(refusal(size_only(1001)).substr(0, 27), "invalid: a request of 1001 ");
  EXPECT_TRUE(refusal(Slice::copy_of("GET / HTTP/1.1\r\n")).ends_with("HTTP on a Kafka listener"));
  EXPECT_TRUE(refusal(Slice::copy_of("\x16\x03\x01\x02")).ends_with("a plaintext listener"));
  EXPECT_EQ(refusal(frame_of(std::string(1000, 'y'))), std::string(1000, 'y'));
}

TEST_F(FrameReaderTest, AFrameCountsUntilItsReservationIsDropped) {
  open();
  send(frame_of("12345"));
  ask();
  EXPECT_EQ(budget_->used(), 5U);
  Frame frame = ***next_;
  next_.reset();
  EXPECT_EQ(budget_->used(), 5U);
  frame.reservation.reset();
  EXPECT_EQ(budget_->used(), 0U);
  EXPECT_EQ(as_text(frame.bytes.bytes()), "12345");
}

TEST_F(FrameReaderTest, DoesNotReadTheSocketWhileMemoryIsUsedUp) {
  open(100'000, 8192);
  auto others = budget_->try_reserve(95'000);
  std::string body(50'000, 'z');
  Slice frame = frame_of(body);
  ask();
  send(frame.sub(0, 2));  // its time runs now
  send(frame.sub(2));
  EXPECT_EQ(text(), "(waits)");
  // However long it takes: waiting for memory is not the client's fault.
  for (int i = 0; i < 100; ++i) advance(seconds(10));
  EXPECT_EQ(text(), "(waits)");
  EXPECT_EQ(budget_->used(), 95'000U);
  others.reset();
  turn();
  EXPECT_EQ(text(), body);
}

// Without data a size pins a first part only, and never all it claims.
TEST_F(FrameReaderTest, ALyingSizePinsNoMoreThanTwiceWhatCame) {
  open(1_GiB, 8_MiB);
  send(size_only(static_cast<std::int32_t>(100_MiB)));
  EXPECT_EQ(ask_text(), "(waits)");
  EXPECT_EQ(budget_->used(), 64_KiB);
  std::string part(3 << 20, 'p');
  send(part);
  EXPECT_EQ(budget_->used(), 4_MiB);
  advance(seconds(30 + 3 * 16 - 1));
  EXPECT_EQ(text(), "(waits)");
  advance(seconds(2));
  EXPECT_EQ(text(), "timed out: only 3145732 bytes of a frame came within 79 s");
  EXPECT_EQ(budget_->used(), 0U);
}

TEST_F(FrameReaderTest, GrowingFramesAreContiguousAndWhole) {
  open(1_GiB, 8_MiB);
  std::string body;
  while (body.size() < 5'000'000) body += fmt::format("{:08}", body.size()) + std::string(500, '.');
  ask();
  send(frame_of(body));
  EXPECT_EQ(text(), body);
  EXPECT_EQ(budget_->used(), body.size());
}

// Three frames of 6 MiB under a budget of 8 MiB, all begun at once: each holds a part and none may
// wait for ever.
TEST_F(FrameReaderTest, GrowingFramesDoNotBlockEachOther) {
  constexpr ByteCount kLimit = 8_MiB;
  struct Peer {
    std::unique_ptr<Stream> client, server;
    std::unique_ptr<FrameReader> reader;
    std::optional<Next> next;
  };
  open(kLimit);
  std::array<Peer, 3> peers;
  std::string body(6 << 20, 'b');
  ByteCount most = 0;
  int complete = 0;
  auto read = [](Peer& peer) -> Task<void> { peer.next = co_await peer.reader->next(); };
  auto write = [](Stream& to, Slice what) -> Task<void> {
    co_await write_all(to, Chain(std::move(what)));
  };
  for (Peer& peer : peers) {
    std::tie(peer.client, peer.server) = make_pipe({.capacity = 64 * 1024});
    peer.reader = std::make_unique<FrameReader>(*peer.server, clock_, *budget_, limits_,
                                                context_.get_executor());
    boost::asio::co_spawn(context_, read(peer), boost::asio::detached);
    boost::asio::co_spawn(context_, write(*peer.client, frame_of(body)), boost::asio::detached);
  }
  context_.restart();
  while (context_.poll_one() > 0) {
    most = std::max(most, budget_->used());
    for (Peer& peer : peers) {
      if (!peer.next) continue;
      ASSERT_TRUE(*peer.next) << peer.next->error().to_string();
      EXPECT_EQ((**peer.next)->bytes.size(), body.size());
      peer.next.reset();  // the handler is done with it
      ++complete;
    }
  }
  EXPECT_EQ(complete, 3);
  EXPECT_GT(most, kLimit);  // or the case did not happen
  EXPECT_LE(most, kLimit + body.size());
}

TEST_F(FrameReaderTest, AFrameMustCompleteInTime) {
  open();
  EXPECT_EQ(ask_text(), "(waits)");
  advance(seconds(1000));  // between frames there is no limit
  send(std::string_view("\0\0", 2));
  advance(seconds(29));
  EXPECT_EQ(text(), "(waits)");
  send(std::string_view("\0", 1));  // a trickle buys no time
  advance(seconds(1));
  EXPECT_EQ(text(), "timed out: only 3 bytes of a frame came within 30 s");
}

TEST_F(FrameReaderTest, AFrameMustCompleteSoonerWhileOthersWaitForMemory) {
  open(100);
  EXPECT_EQ(ask_text(), "(waits)");
  send(
      std::string_view("\0\0\0\x32"
                       "ab",
                       6));
  EXPECT_EQ(budget_->used(), 50U);
  advance(seconds(6));
  EXPECT_EQ(text(), "(waits)");
  std::stop_source stop;
  auto wait = [](ByteBudget& budget, std::stop_token token) -> Task<void> {
    co_await budget.reserve(80, std::move(token));
  };
  boost::asio::co_spawn(context_, wait(*budget_, stop.get_token()), boost::asio::detached);
  turn();
  advance(seconds(5));
  EXPECT_EQ(text(), "timed out: only 6 bytes of a frame came within 11 s");
  stop.request_stop();
  turn();
}

TEST_F(FrameReaderTest, TheTimeOfOneFrameIsNotTheNextOnes) {
  open();
  for (int i = 0; i < 10; ++i) {
    ask();
    send(std::string_view("\0\0\0\2x", 5));
    advance(seconds(29));
    send("y");
    EXPECT_EQ(text(), "xy");
    advance(seconds(29));
  }
}

TEST_F(FrameReaderTest, TellsAnEndWithinAFrame) {
  open();
  send(std::string_view("\0\0\0\5abc", 7));
  client_->shutdown_send();
  EXPECT_EQ(ask_text(), "unavailable: the peer ended after 3 of a frame's 5 bytes");
  open();
  send(std::string_view("\0", 1));
  client_->shutdown_send();
  EXPECT_EQ(ask_text(), "unavailable: the peer ended within a size");
}

TEST_F(FrameReaderTest, StopEndsEveryWait) {
  auto stopped = [&] {
    reader_->stop();
    turn();
    return text();
  };
  open();
  EXPECT_EQ(ask_text(), "(waits)");
  EXPECT_EQ(stopped(), "cancelled: the reader stops");
  EXPECT_EQ(ask_text(), "cancelled: the reader stops");

  open();
  send(size_only(10));
  EXPECT_EQ(ask_text(), "(waits)");
  EXPECT_EQ(stopped(), "cancelled: the reader stops");

  open(100);
  auto others = budget_->try_reserve(100);
  send(frame_of("x"));
  EXPECT_EQ(ask_text(), "(waits)");
  EXPECT_EQ(stopped(), "cancelled: the reader stops");
  EXPECT_EQ(budget_->waiting(), 0U);
}

}  // namespace
}  // namespace weir::net

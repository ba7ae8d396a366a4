#include "broker/tcp_peer_channel.h"

#include "base/byte_writer.h"
#include "net/pipe.h"
#include "runtime/task_group.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

namespace weir::broker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Chain frame_of(std::string_view text) {
  ByteWriter out;
  out.u32(static_cast<std::uint32_t>(text.size()));
  out.text(text);
  return Chain(out.to_slice());
}

// Gives out one end of a pipe for each connection; the other end is the test's.
class FakeConnector final : public net::Connector {
 public:
  Task<Result<std::unique_ptr<net::Stream>>> connect(net::Origin to, MonoTime) override {
    origins.push_back(to);
    if (refuses) co_return fail(ErrorCode::kTimeout, "no answer");
    auto [here, there] = net::make_pipe();
    peers.push_back(std::move(there));
    co_return std::move(here);
  }

  bool refuses = false;
  std::vector<net::Origin> origins;
  std::vector<std::unique_ptr<net::Stream>> peers;
};

class TcpPeerChannelTest : public testing::Test {
 protected:
  ~TcpPeerChannelTest() override {
    for (auto& peer : connector_.peers) peer->close();
    run_task(loop_, tasks_.join());
  }

  Result<Slice> exchange(std::string_view text) {
    return run_in_time(loop_, clock_, channel_.exchange(to_, frame_of(text)));
  }
  ErrorCode failure() {
    auto answer = exchange("question");
    return answer ? ErrorCode::kInternal : answer.error().code;
  }
  // The newest connection gets `answer` when a request is there; nothing: it is closed.
  void answer_once(std::optional<Chain> answer) {
    tasks_.spawn(loop_.get_executor(), serve(std::move(answer)));
  }

  boost::asio::io_context loop_;
  ManualClock clock_;
  FakeConnector connector_;
  TcpPeerChannel channel_{connector_, clock_, loop_.get_executor(), {.listener = "INTERNAL"}};
  metadata::BrokerImage to_{.id = 1,
                            .epoch = 3,
                            .endpoints = {{"PLAINTEXT", "outside", 9092, "PLAINTEXT"},
                                          {"INTERNAL", "inside", 9093, "PLAINTEXT"}}};
  std::string asked_;
  TaskGroup tasks_;

 private:
  Task<void> serve(std::optional<Chain> answer) {
    while (connector_.peers.empty()) co_await clock_.sleep(milliseconds(1));
    net::Stream& peer = *connector_.peers.back();
    std::array<std::byte, 4> head;
    if (!co_await net::read_exactly(peer, head)) co_return;
    std::vector<std::byte> body(static_cast<std::size_t>(head[3]));
    if (!co_await net::read_exactly(peer, body)) co_return;
    asked_ = as_text(body);
    if (!answer) co_return peer.close();
    co_await net::write_all(peer, *std::move(answer));
  }
};

TEST_F(TcpPeerChannelTest, OneConnectionServesManyRequests) {
  answer_once(frame_of("one"));
  EXPECT_EQ(as_text(exchange("first").value().bytes()), "one");
  EXPECT_EQ(asked_, "first");
  answer_once(frame_of("two"));
  EXPECT_EQ(as_text(exchange("second").value().bytes()), "two");
  ASSERT_EQ(connector_.origins.size(), 1U);
  EXPECT_EQ(connector_.origins[0], (net::Origin{.host = "inside", .port = 9093}));
}

TEST_F(TcpPeerChannelTest, ABrokerWithoutThatListenerIsMetAtItsFirst) {
  to_.endpoints.pop_back();
  answer_once(frame_of("here"));
  ASSERT_TRUE(exchange("where"));
  EXPECT_EQ(connector_.origins[0].host, "outside");
}

TEST_F(TcpPeerChannelTest, AnotherRegistrationIsAnotherConnection) {
  answer_once(frame_of("one"));
  ASSERT_TRUE(exchange("first"));
  to_.epoch = 4;
  connector_.refuses = true;
  EXPECT_EQ(failure(), ErrorCode::kUnavailable);
  EXPECT_EQ(connector_.origins.size(), 2U);
}

TEST_F(TcpPeerChannelTest, WithoutAConnectionNothingWasSent) {
  connector_.refuses = true;
  EXPECT_EQ(failure(), ErrorCode::kUnavailable);
  to_.endpoints.clear();
  EXPECT_EQ(failure(), ErrorCode::kUnavailable);
}

TEST_F(TcpPeerChannelTest, ABrokerThatDoesNotAnswerMayHaveDoneIt) {
  const MonoTime began = clock_.now();
  EXPECT_EQ(failure(), ErrorCode::kTimeout);
  EXPECT_GE(clock_.now() - began, seconds(2));
  EXPECT_LE(clock_.now() - began, seconds(2) + milliseconds(50));
  // The next one does not meet the late answer.
  EXPECT_EQ(failure(), ErrorCode::kTimeout);
  EXPECT_EQ(connector_.origins.size(), 2U);
}

TEST_F(TcpPeerChannelTest, AConnectionThatEndsMayHaveCarriedIt) {
  answer_once(std::nullopt);
  EXPECT_EQ(failure(), ErrorCode::kTimeout);
}

TEST_F(TcpPeerChannelTest, AnAnswerBeyondAllMeasureIsNotRead) {
  ByteWriter out;
  out.u32(33U << 20U);
  answer_once(Chain(out.to_slice()));
  auto answer = exchange("question");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
  EXPECT_NE(answer.error().message.find("34603008 bytes"), std::string::npos);
}

TEST_F(TcpPeerChannelTest, OneRequestAtATime) {
  tasks_.spawn(loop_.get_executor(), [](auto& channel, auto& to) -> Task<void> {
    co_await channel.exchange(to, frame_of("slow"));
  }(channel_, to_));
  loop_.poll();
  EXPECT_EQ(failure(), ErrorCode::kUnavailable);
  EXPECT_EQ(connector_.origins.size(), 1U);
  connector_.peers.back()->close();
}

}  // namespace
}  // namespace weir::broker

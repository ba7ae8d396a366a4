// The whole of a Kafka listener, over TCP and on several threads: hostile input, many clients, an
// orderly end.
#include "net/framed_server.h"

#include "base/byte_writer.h"
#include "net/pipe.h"
#include "net/tcp_stream.h"
#include "runtime/executors.h"
#include "runtime/log.h"
#include "runtime/rng.h"
#include "runtime/run_on.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace weir::net {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

Slice frame_of(std::string_view body) {
  ByteWriter writer;
  writer.u32(static_cast<std::uint32_t>(body.size()));
  writer.text(body);
  return writer.to_slice();
}

// Answers with the request itself, from a thread of the pool.
class EchoHandler final : public RequestHandler {
 public:
  explicit EchoHandler(Executor workers) : workers_(std::move(workers)) {}
  void opened(ConnectionContext& context) override {
    context.state = std::make_shared<int>(0);
    std::lock_guard lock(mutex_);
    executors_.push_back(context.executor);
  }
  std::ptrdiff_t opened_on(const Executor& executor) {
    std::lock_guard lock(mutex_);
    return std::ranges::count(executors_, executor);
  }
  Task<Pending> start(Request request, ConnectionContext& context) override {
    ++*std::static_pointer_cast<int>(context.state);
    Pending pending;
    // The response is the request's memory, and counts as long.
    auto whole = std::make_shared<Request>(std::move(request));
    asio::post(workers_, [pending, frame = Slice(whole, whole->frame.bytes())]() mutable {
      ByteWriter size;
      size.u32(static_cast<std::uint32_t>(frame.size()));
      Chain chain(size.to_slice());
      chain.append(std::move(frame));
      pending.set(std::move(chain));
    });
    co_return pending;
  }

 private:
  Executor workers_;
  std::mutex mutex_;
  std::vector<Executor> executors_;  // of the connections
};

class FramedServerTest : public testing::Test {
 protected:
  void SetUp() override {
    log::configure({.level = log::Level::kOff});
    limits_.frame.time_max = seconds(1);
    limits_.linger = milliseconds(200);
    limits_.frame.size_max = 1_MiB;
  }
  void TearDown() override {
    stop(seconds(2));
    // The last slices die on the threads of the pool.
    executors_.stop();
    EXPECT_EQ(memory_.used(), 0U);
    EXPECT_EQ(slots_->used(), 0U);
  }
  void start(ByteCount connections_max = 1000) {
    slots_ = std::make_unique<ByteBudget>(connections_max);
    server_ = std::make_unique<FramedServer>(
        "PLAINTEXT", std::vector<Executor>{executors_.core(0), executors_.core(1)},
        FramedServerServices{clock_, memory_, *slots_, handler_, registry_}, limits_);
    Status status = server_->start({.host = "127.0.0.1", .port = 0});
    ASSERT_TRUE(status) << status.error().to_string();
    ASSERT_NE(server_->port(), 0);
  }
  void stop(Duration patience) {
    if (server_) run_task(context_, server_->drain(patience));
    server_.reset();
  }
  std::unique_ptr<Stream> connect() {
    auto stream = run_task(context_, connect_tcp("127.0.0.1", server_->port()));
    EXPECT_TRUE(stream) << stream.error().to_string();
    return std::move(*stream);
  }
  Status send(Stream& stream, Slice slice) {
    return run_task(context_, write_all(stream, Chain(std::move(slice))));
  }
  std::string read_text(Stream& stream, std::size_t count) {
    std::vector<std::byte> bytes(count);
    Status status = run_task(context_, read_exactly(stream, bytes));
    return status ? std::string(as_text(bytes)) : status.error().to_string();
  }
  // Until the peer ends or breaks the connection.
  std::size_t read_to_end(Stream& stream) {
    std::vector<std::byte> bytes(1 << 20);
    std::size_t sum = 0;
    while (true) {
      auto count = run_task(context_, stream.read_some(bytes, {}));
      if (!count || *count == 0) return sum;
      sum += *count;
    }
  }
  std::string echo(Stream& stream, std::string_view body) {
    EXPECT_TRUE(send(stream, frame_of(body)));
    return read_text(stream, 4 + body.size()).substr(4);
  }

  Executors executors_{2, 2};
  asio::io_context context_;
  SystemClock clock_;
  ByteBudget memory_{8_MiB};
  EchoHandler handler_{executors_.blocking()};
  MetricsRegistry registry_;
  ConnectionLimits limits_;
  std::unique_ptr<ByteBudget> slots_;
  std::unique_ptr<FramedServer> server_;
};

TEST_F(FramedServerTest, Echoes) {
  start();
  auto client = connect();
  EXPECT_EQ(echo(*client, "hello"), "hello");
  std::string large(900'000, 'l');
  EXPECT_EQ(echo(*client, large), large);
  EXPECT_EQ(client->peer(), fmt::format("127.0.0.1:{}", server_->port()));
}

// Sends `count` frames of sizes drawn from `seed` with up to 50 of them unanswered, and checks
// every answer.
Task<bool> busy_client(std::uint16_t port, std::uint64_t seed, int count) {
  auto stream = co_await connect_tcp("127.0.0.1", port);
  if (!stream) co_return false;
  Rng rng(seed);
  std::deque<Slice> sent;
  for (int i = 0; i < count || !sent.empty(); ++i) {
    if (i < count) {
      std::size_t size = 1 + rng.below(rng.below(4) == 0 ? 100'000 : 200);
      std::string body(size, static_cast<char>('a' + rng.below(26)));
      sent.push_back(frame_of(body));
      Status written = co_await write_all(**stream, Chain(sent.back()));
      if (!written) co_return false;
    }
    if (i < count && sent.size() < 50) continue;
    std::vector<std::byte> answer(sent.front().size());
    Status read = co_await read_exactly(**stream, answer);
    if (!read || !std::ranges::equal(answer, sent.front().bytes())) co_return false;
    sent.pop_front();
  }
  co_return true;
}

TEST_F(FramedServerTest, ServesManyClientsOnSeveralThreads) {
  start();
  std::vector<OneShot<bool>> done(12);
  auto client = [](std::uint16_t port, std::uint64_t seed, OneShot<bool> to) -> Task<void> {
    bool fine = co_await busy_client(port, seed, 100);
    to.set(fine);
  };
  for (std::size_t i = 0; i < done.size(); ++i) {
    asio::co_spawn(executors_.core(i % 2), client(server_->port(), i, done[i]), asio::detached);
  }
  for (OneShot<bool>& each : done) EXPECT_TRUE(run_task(context_, each.wait()));
  const std::string help = "Requests read from clients.";
  EXPECT_EQ(registry_.counter("weir_net_requests_total", help, {{"listener", "PLAINTEXT"}}).value(),
            12U * 100U);
}

TEST_F(FramedServerTest, ThousandsOfTinyFramesAtOnce) {
  start();
  auto client = connect();
  std::string wire;
  for (int i = 0; i < 5000; ++i) wire += std::string("\0\0\0\1t", 5);
  OneShot<Status> written;
  auto write = [](Stream& to, Slice what, OneShot<Status> done) -> Task<void> {
    Status status = co_await write_all(to, Chain(std::move(what)));
    done.set(status);
  };
  asio::co_spawn(context_, write(*client, Slice::copy_of(wire), written), asio::detached);
  EXPECT_EQ(read_text(*client, wire.size()), wire);
  EXPECT_TRUE(run_task(context_, written.wait()));
}

TEST_F(FramedServerTest, AnyBytesEndInAClosedConnectionWithinLimits) {
  limits_.frame.time_max = milliseconds(30);
  start();
  Rng rng(20260131);
  for (int round = 0; round < 60; ++round) {
    auto client = connect();
    std::vector<std::byte> noise(1 + rng.below(20'000));
    for (std::byte& b : noise) b = static_cast<std::byte>(rng.next());
    // Half of them look like frames at first: a size that is fine, small or large, true or not.
    if (rng.below(2) == 0 && noise.size() > 4) {
      noise[0] = std::byte{0};
      noise[1] = static_cast<std::byte>(rng.below(16));
    }
    [[maybe_unused]] Status sent = send(*client, Slice::of(std::move(noise)));  // it may be cut
    if (rng.below(2) == 0) client->shutdown_send();
    // Whether it was refused, ended by us, or waited for in vain (time_max): it ends.
    read_to_end(*client);
    EXPECT_LE(memory_.used(), 1_MiB);
  }
  auto client = connect();
  EXPECT_EQ(echo(*client, "still there"), "still there");
}

TEST_F(FramedServerTest, SilenceWithinAFrameIsCutOff) {
  start();
  auto client = connect();
  ASSERT_TRUE(send(*client, Slice::copy_of(std::string_view("\0\0\1\0half", 8))));
  auto before = clock_.now();
  EXPECT_EQ(read_to_end(*client), 0U);
  EXPECT_GE(clock_.now() - before, milliseconds(900));
}

TEST_F(FramedServerTest, AClientThatNeverReadsHoldsLittleAndDoesNotStopTheOthers) {
  start();
  auto greedy = connect();
  // Writes until nobody takes any more.
  OneShot<bool> stuck;
  auto write = [](Stream& to, OneShot<bool> done) -> Task<void> {
    Slice frame = frame_of(std::string(100'000, 'g'));
    bool fine = true;
    for (int i = 0; i < 10'000 && fine; ++i) {
      Status written = co_await write_all(to, Chain(frame));
      fine = written.has_value();
    }
    done.set(!fine);
  };
  asio::co_spawn(context_, write(*greedy, stuck), asio::detached);
  auto client = connect();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(echo(*client, "others"), "others");
  EXPECT_LE(memory_.used(), memory_.limit());
  stop(milliseconds(100));  // is not held up by it either
  greedy->close();
  EXPECT_TRUE(run_task(context_, stuck.wait()));
}

TEST_F(FramedServerTest, NoMoreConnectionsThanAllowed) {
  start(2);
  auto first = connect();
  auto second = connect();
  EXPECT_EQ(echo(*first, "1"), "1");
  EXPECT_EQ(echo(*second, "2"), "2");
  auto third = connect();  // into the queue of the system
  ASSERT_TRUE(send(*third, frame_of("3")));
  EXPECT_EQ(echo(*first, "1"), "1");
  EXPECT_EQ(server_->connections(), 2U);
  first->close();
  EXPECT_EQ(read_text(*third, 5).substr(4), "3");
}

TEST_F(FramedServerTest, SpreadsConnectionsOverTheCores) {
  start();
  std::vector<std::unique_ptr<Stream>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(connect());
    EXPECT_EQ(echo(*clients.back(), "x"), "x");
  }
  EXPECT_EQ(server_->connections(), 4U);
  EXPECT_EQ(handler_.opened_on(executors_.core(0)), 2);
  EXPECT_EQ(handler_.opened_on(executors_.core(1)), 2);
}

TEST_F(FramedServerTest, DrainEndsConnectionsAndTheListener) {
  start();
  auto client = connect();
  EXPECT_EQ(echo(*client, "before"), "before");
  std::uint16_t port = server_->port();
  run_task(context_, server_->drain(seconds(5)));
  // One that was accepted at the last moment.
  auto [late, accepted] = make_pipe();
  OneShot<bool> served;
  auto serve = [](FramedServer& server, std::unique_ptr<Stream> stream,
                  OneShot<bool> done) -> Task<void> {
    co_await server.serve(std::move(stream), 0);
    done.set(true);
  };
  asio::co_spawn(executors_.core(0), serve(*server_, std::move(accepted), served), asio::detached);
  run_task(context_, served.wait());
  server_.reset();
  EXPECT_EQ(read_to_end(*client), 0U);
  EXPECT_FALSE(run_task(context_, connect_tcp("127.0.0.1", port)));
}

TEST_F(FramedServerTest, SaysWhyItCannotListen) {
  start();
  FramedServer other("OTHER", {executors_.core(0)},
                     FramedServerServices{clock_, memory_, *slots_, handler_, registry_}, limits_);
  Status taken = other.start({.host = "127.0.0.1", .port = server_->port()});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().to_string(),
            fmt::format("unavailable: cannot listen on 127.0.0.1:{}: Address already in use",
                        server_->port()));
  Status foreign = other.start({.host = "192.0.2.1", .port = 0});
  EXPECT_EQ(foreign.error().code, ErrorCode::kUnavailable);
  Status unknown = other.start({.host = "no-such-host.invalid", .port = 0});
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalid);
}

// The process is out of file descriptors for a while.
TEST_F(FramedServerTest, AcceptsAgainAfterDescriptorsRanOut) {
  std::atomic<bool> failed = false;
  log::configure({.sink = [&](std::string_view line) {
    if (line.contains("listener.accept.failed")) failed = true;
  }});
  start();
#if __has_feature(undefined_behavior_sanitizer)
  GTEST_SKIP() << "UBSan's vtable check opens a pipe and takes its failure for a bad object";
#endif
  auto early = connect();
  EXPECT_EQ(echo(*early, "early"), "early");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // The client's own descriptor is the last.
  asio::ip::tcp::socket late(context_, asio::ip::tcp::v4());
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(late.native_handle()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  late.connect({asio::ip::address_v4::loopback(), server_->port()});
  EXPECT_EQ(echo(*early, "meanwhile"), "meanwhile");
  while (!failed) std::this_thread::yield();
  EXPECT_EQ(server_->connections(), 1U);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  auto stream = make_tcp_stream(std::move(late));
  ASSERT_TRUE(stream);
  EXPECT_EQ(echo(**stream, "late"), "late");
  log::configure({.level = log::Level::kOff});
}

}  // namespace
}  // namespace weir::net

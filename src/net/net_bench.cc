// How fast requests go through the network layer: clients that keep a number of requests in flight
// over TCP, against a FramedServer on one core whose handler answers each with 60 bytes. The last
// 32 MiB of requests stay alive, as staged records do.
//
// `server_us` is the CPU time of everything but the clients, per request; `faults` are page faults
// per request.
#include "net/framed_server.h"
#include "net/tcp_stream.h"
#include "runtime/allocator.h"
#include "runtime/executors.h"
#include "runtime/log.h"
#include "runtime/test_loop.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace weir::net {
namespace {

constexpr std::size_t kAnswerSize = 60;
constexpr ByteCount kHeldMax = 32_MiB;

Slice size_of(std::size_t size) {
  std::uint32_t wire = std::byteswap(static_cast<std::uint32_t>(size));
  return Slice::copy_of(std::as_bytes(std::span(&wire, 1)));
}

// Answers on the core, or from another thread, which also drops the requests.
class BenchHandler final : public RequestHandler {
 public:
  BenchHandler(Executor worker, bool elsewhere)
      : worker_(std::move(worker)), elsewhere_(elsewhere) {}

  void opened(ConnectionContext&) override {}
  Task<Pending> start(Request request, ConnectionContext&) override {
    Pending pending;
    auto finish = [this, pending, frame = std::move(request.frame)]() mutable {
      Chain chain(size_of(kAnswerSize));
      chain.append(Slice::copy_of(std::string(kAnswerSize, 'a')));
      pending.set(std::move(chain));
      hold(std::move(frame));
    };
    if (elsewhere_) {
      boost::asio::post(worker_, std::move(finish));
    } else {
      finish();
    }
    co_return pending;
  }

 private:
  void hold(Slice frame) {
    held_bytes_ += frame.size();
    held_.push_back(std::move(frame));
    while (held_bytes_ > kHeldMax) {
      held_bytes_ -= held_.front().size();
      held_.pop_front();
    }
  }

  Executor worker_;
  const bool elsewhere_;
  ByteCount held_bytes_ = 0;  // of held_; both on one thread only
  std::deque<Slice> held_;
};

struct Bench {
  explicit Bench(bool elsewhere) : handler(executors.blocking(), elsewhere) {
    Status started = server.start({.host = "127.0.0.1", .port = 0});
    if (!started) std::abort();
  }
  ~Bench() {
    run_task(server.drain(std::chrono::seconds(5)));
    executors.stop();
  }

  SystemClock clock;
  ByteBudget memory{1_GiB};
  ByteBudget slots{1000};
  MetricsRegistry metrics;
  Executors executors{1, 1};
  BenchHandler handler;
  ConnectionLimits limits;
  FramedServer server{"BENCH",
                      {executors.core(0)},
                      FramedServerServices{clock, memory, slots, handler, metrics},
                      limits};
};

double cpu_seconds(const rusage& usage) {
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

rusage usage_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return usage;
}

// A blocking client.
class Client {
 public:
  Client(std::uint16_t port, std::size_t size, std::size_t burst)
      : answers_(burst * (4 + kAnswerSize)) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
    socket_.set_option(boost::asio::ip::tcp::no_delay(true));
    for (std::size_t i = 0; i < burst; ++i) {
      Slice head = size_of(size);
      requests_.insert(requests_.end(), head.bytes().begin(), head.bytes().end());
      requests_.resize(requests_.size() + size, std::byte{'x'});
    }
  }
  // As many requests as the burst has, in one call where they fit.
  bool ask() { return transfer(requests_, true); }
  bool take_answers() { return transfer(answers_, false); }

 private:
  bool transfer(MutableBytes bytes, bool sending) {
    const int fd = socket_.native_handle();
    while (!bytes.empty()) {
      ssize_t count = sending ? ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                              : ::recv(fd, bytes.data(), bytes.size(), 0);
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
  }

  boost::asio::io_context context_;
  boost::asio::ip::tcp::socket socket_{context_};
  std::vector<std::byte> requests_;
  std::vector<std::byte> answers_;
};

void requests(benchmark::State& state, bool elsewhere) {
  log::configure({.level = log::Level::kWarn});
  tune_allocator();
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto in_flight = static_cast<std::size_t>(state.range(1));
  // Small requests go out several to a system call, as clients send them.
  const std::size_t burst = std::clamp<std::size_t>(65'536 / (size + 4), 1, (in_flight + 1) / 2);
  Bench bench(elsewhere);
  Client client(bench.server.port(), size, burst);
  const rusage before = usage_of(RUSAGE_SELF);
  const rusage mine_before = usage_of(RUSAGE_THREAD);
  std::size_t asked = 0;
  bool fine = true;
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(burst))) {
    for (; asked + burst <= in_flight; asked += burst) fine = fine && client.ask();
    fine = fine && client.take_answers();
    asked -= burst;
  }
  if (!fine) state.SkipWithError("the connection broke");
  const rusage after = usage_of(RUSAGE_SELF);
  const double mine = cpu_seconds(usage_of(RUSAGE_THREAD)) - cpu_seconds(mine_before);
  const auto done = static_cast<double>(state.iterations());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
  state.counters["server_us"] = (cpu_seconds(after) - cpu_seconds(before) - mine) * 1e6 / done;
  state.counters["faults"] = static_cast<double>(after.ru_minflt - before.ru_minflt) / done;
}

void same_thread(benchmark::State& state) { requests(state, false); }
void other_thread(benchmark::State& state) { requests(state, true); }

// 5 requests in flight: the Java producer's default; 200 KB: its batches of 16 KB for 12
// partitions.
BENCHMARK(other_thread)
    ->Name("net/answered_elsewhere")
    ->ArgNames({"size", "in_flight"})
    ->Args({200'000, 5})
    ->Args({1'000'000, 5})
    ->Args({8'000'000, 2})
    ->Args({16'384, 20})
    ->Args({1000, 200})
    ->Args({1000, 1})
    ->UseRealTime();
BENCHMARK(same_thread)
    ->Name("net/answered_at_once")
    ->ArgNames({"size", "in_flight"})
    ->Args({200'000, 5})
    ->Args({1000, 200})
    ->Args({1000, 1})
    ->UseRealTime();

}  // namespace
}  // namespace weir::net

// How fast requests go through the network layer: clients with a number of requests in flight, each
// on its own thread, against a FramedServer on one core whose handler answers from another thread.
//   net_bench [size=204800] [in_flight=5] [clients=1] [seconds=3] [mode=ack|echo] [held_mib=32]
//   [tune=1] [inline=0]
// ack answers with 60 bytes, echo with the request; inline=1 answers at once, on the core. The last
// `held_mib` of requests stay alive, as staged records do.
#include "net/framed_server.h"
#include "net/tcp_stream.h"
#include "runtime/allocator.h"
#include "runtime/executors.h"
#include "runtime/test_loop.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weir::net {
namespace {

struct Options {
  std::map<std::string, std::uint64_t> numbers = {
      {"size", 204'800}, {"in_flight", 5}, {"clients", 1}, {"seconds", 3},
      {"held_mib", 32},  {"tune", 1},      {"inline", 0}};
  bool echo = false;

  std::uint64_t operator[](const char* name) const { return numbers.at(name); }
};

Slice size_of(std::uint32_t size) {
  std::uint32_t wire = __builtin_bswap32(size);
  return Slice::copy_of(std::as_bytes(std::span(&wire, 1)));
}

class BenchHandler final : public RequestHandler {
 public:
  BenchHandler(Executor worker, const Options& options)
      : worker_(std::move(worker)),
        echo_(options.echo),
        inline_(options["inline"] != 0),
        held_max_(options["held_mib"] << 20) {}

  void opened(ConnectionContext&) override {}
  Task<Pending> start(Request request, ConnectionContext&) override {
    Pending pending;
    if (inline_) {
      pending.set(answer(request.frame));
      co_return pending;
    }
    boost::asio::post(worker_, [this, pending, frame = std::move(request.frame)]() mutable {
      pending.set(answer(frame));
      held_bytes_ += frame.size();
      held_.push_back(std::move(frame));
      while (held_bytes_ > held_max_) {
        held_bytes_ -= held_.front().size();
        held_.pop_front();
      }
    });
    co_return pending;
  }
  // On the worker.
  void drop_held() { held_.clear(); }

 private:
  Response answer(const Slice& frame) const {
    Chain chain(size_of(static_cast<std::uint32_t>(echo_ ? frame.size() : 60)));
    chain.append(echo_ ? frame : Slice::copy_of(std::string(60, 'a')));
    return chain;
  }

  Executor worker_;
  const bool echo_;
  const bool inline_;
  const ByteCount held_max_;
  ByteCount held_bytes_ = 0;  // of held_; both on the worker only
  std::deque<Slice> held_;
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double cpu_of(int who, rusage* out = nullptr) {
  rusage usage{};
  getrusage(who, &usage);
  if (out != nullptr) *out = usage;
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

struct ClientResult {
  std::uint64_t answered = 0;
  double cpu = 0;
};

bool transfer_all(int fd, std::byte* data, std::size_t size, bool sending) {
  while (size > 0) {
    ssize_t count = sending ? ::send(fd, data, size, MSG_NOSIGNAL) : ::recv(fd, data, size, 0);
    if (count <= 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

// A blocking client: keeps the requests in flight at their number. Small requests go out several to
// a system call.
ClientResult run_client(std::uint16_t port, const Options& options, MonoTime until, Clock& clock) {
  boost::asio::io_context context;
  boost::asio::ip::tcp::socket socket(context);
  socket.connect({boost::asio::ip::address_v4::loopback(), port});
  socket.set_option(boost::asio::ip::tcp::no_delay(true));
  const std::size_t size = options["size"];
  const std::size_t window = options["in_flight"];
  const std::size_t answer_size = 4 + (options.echo ? size : 60);
  const std::size_t burst = std::max<std::size_t>(1, std::min(window / 2, 65'536 / (size + 4)));
  std::vector<std::byte> frames;
  for (std::size_t i = 0; i < burst; ++i) {
    Slice head = size_of(static_cast<std::uint32_t>(size));
    frames.insert(frames.end(), head.bytes().begin(), head.bytes().end());
    frames.resize(frames.size() + size, std::byte{'x'});
  }
  std::vector<std::byte> answers(answer_size * burst);
  ClientResult result;
  std::size_t in_flight = 0;
  while (clock.now() < until) {
    if (in_flight + burst <= window) {
      if (!transfer_all(socket.native_handle(), frames.data(), frames.size(), true)) break;
      in_flight += burst;
      continue;
    }
    if (!transfer_all(socket.native_handle(), answers.data(), answers.size(), false)) break;
    in_flight -= burst;
    result.answered += burst;
  }
  result.cpu = cpu_of(RUSAGE_THREAD);
  return result;
}

void report(const Options& options, const std::vector<ClientResult>& results, double elapsed,
            double cpu_before, const rusage& before) {
  std::uint64_t answered = 0;
  double client_cpu = 0;
  for (const ClientResult& result : results) {
    answered += result.answered;
    client_cpu += result.cpu;
  }
  rusage after{};
  double server_cpu = cpu_of(RUSAGE_SELF, &after) - cpu_before - client_cpu;
  double bytes = static_cast<double>(answered * options["size"]);
  fmt::print(
      "{:.0f} MB/s, {:.0f} requests/s, server {:.2f} CPU s/GiB, {:.2f} us/request, {:.0f} page "
      "faults/GiB\n",
      bytes / 1e6 / elapsed, static_cast<double>(answered) / elapsed,
      server_cpu / (bytes / (1 << 30)), server_cpu * 1e6 / static_cast<double>(answered),
      static_cast<double>(after.ru_minflt - before.ru_minflt) / (bytes / (1 << 30)));
}

void run(const Options& options) {
  if (options["tune"] != 0) tune_allocator();
  Executors executors(1, 1);
  SystemClock clock;
  ByteBudget memory(1_GiB);
  ByteBudget slots(1000);
  MetricsRegistry metrics;
  BenchHandler handler(executors.blocking(), options);
  FramedServer server("BENCH", {executors.core(0)},
                      FramedServerServices{clock, memory, slots, handler, metrics}, {});
  if (!server.start({.host = "127.0.0.1", .port = 0})) return;

  rusage before{};
  double cpu_before = cpu_of(RUSAGE_SELF, &before);
  const MonoTime begin = clock.now();
  const MonoTime until = begin + std::chrono::seconds(options["seconds"]);
  std::vector<ClientResult> results(options["clients"]);
  std::vector<std::thread> threads;
  for (ClientResult& result : results) {
    threads.emplace_back([&] { result = run_client(server.port(), options, until, clock); });
  }
  for (std::thread& thread : threads) thread.join();
  double elapsed = std::chrono::duration<double>(clock.now() - begin).count();
  report(options, results, elapsed, cpu_before, before);
  run_task(server.drain(std::chrono::seconds(5)));
  OneShot<bool> dropped;
  boost::asio::post(executors.blocking(), [&handler, dropped]() mutable {
    handler.drop_held();
    dropped.set(true);
  });
  run_task(dropped.wait());
}

}  // namespace
}  // namespace weir::net

int main(int argc, char** argv) {
  weir::net::Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    std::size_t equals = std::min(arg.find('='), arg.size());
    std::string name(arg.substr(0, equals));
    std::string_view value = arg.substr(std::min(equals + 1, arg.size()));
    std::uint64_t number = 0;
    bool is_number =
        std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc();
    if (name == "mode" && (value == "ack" || value == "echo")) {
      options.echo = value == "echo";
    } else if (is_number && options.numbers.contains(name)) {
      options.numbers[name] = number;
    } else {
      fmt::print(stderr, "unknown argument '{}'; see the top of net_bench.cc\n", arg);
      return 2;
    }
  }
  weir::net::run(options);
}

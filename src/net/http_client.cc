#include "net/http_client.h"

#include "net/http_exchange.h"
#include "runtime/lazy_deadline.h"
#include "runtime/oneshot.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <deque>

namespace weir::net {

// The connections of one executor, and the calls that wait for one. Touched there only.
class HttpClient::Lane {
 public:
  struct Idle {
    std::unique_ptr<Stream> stream;
    MonoTime since;
  };

  explicit Lane(Executor lane_executor) : executor(std::move(lane_executor)) {}

  // Hands the right to a connection to the first call that still waits for one.
  void release() {
    while (!waiting.empty()) {
      OneShot<bool> first = std::move(waiting.front());
      waiting.pop_front();
      if (first.is_set()) continue;
      first.set(true);
      return;
    }
    --in_use;
  }

  const Executor executor;
  std::size_t in_use = 0;
  std::vector<Idle> idle;  // the last is the youngest
  std::deque<OneShot<bool>> waiting;
};

// The use of one connection, or of the right to open one.
class HttpClient::Lease {
 public:
  // The right has been counted.
  explicit Lease(std::shared_ptr<Lane> lane) : lane_(std::move(lane)) {}
  ~Lease() {
    stream.reset();
    lane_->release();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  void keep(MonoTime now) { lane_->idle.push_back({std::move(stream), now}); }

  std::unique_ptr<Stream> stream;
  bool reused = false;

 private:
  std::shared_ptr<Lane> lane_;
};

HttpClient::HttpClient(Connector& connector, Clock& clock, Origin origin,
                       const HttpClientLimits& limits)
    : connector_(connector), clock_(clock), origin_(std::move(origin)), limits_(limits) {}

HttpClient::~HttpClient() {
  for (const auto& lane : lanes_) lane->idle.clear();
}

std::shared_ptr<HttpClient::Lane> HttpClient::lane_of(const Executor& executor) {
  std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) {
    if (lane->executor == executor) return lane;
  }
  lanes_.push_back(std::make_shared<Lane>(executor));
  return lanes_.back();
}

MonoTime HttpClient::end_of(const HttpCall& call) const {
  if (call.time_max > Duration::zero()) return clock_.now() + call.time_max;
  ByteCount bytes = call.body.empty() ? 0 : call.body.size();
  return clock_.now() + limits_.call_max +
         std::chrono::milliseconds(bytes * 1000 / limits_.slowest_bytes_per_second);
}

Task<Result<std::unique_ptr<HttpClient::Lease>>> HttpClient::acquire(std::shared_ptr<Lane> lane,
                                                                     bool fresh, MonoTime end) {
  if (lane->in_use < limits_.connections_max) {
    ++lane->in_use;
  } else {
    OneShot<bool> free;
    lane->waiting.push_back(free);
    auto timer = clock_.call_at(end, lane->executor, [free]() mutable { free.set(false); });
    bool granted = co_await free.wait();
    timer->cancel();
    if (!granted) {
      co_return fail(ErrorCode::kTimeout,
                     fmt::format("{}: none of {} connections became free in time",
                                 to_string(origin_), limits_.connections_max));
    }
  }
  auto lease = std::make_unique<Lease>(lane);
  std::erase_if(lane->idle, [&](const Lane::Idle& one) {
    return fresh || clock_.now() - one.since > limits_.idle_max;
  });
  if (!lane->idle.empty()) {
    lease->stream = std::move(lane->idle.back().stream);
    lease->reused = true;
    lane->idle.pop_back();
    co_return lease;
  }
  MonoTime connect_end = std::min(end, clock_.now() + limits_.connect_max);
  WEIR_CO_TRY(lease->stream, co_await connector_.connect(origin_, connect_end));
  co_return lease;
}

Task<Result<HttpAnswer>> HttpClient::call(HttpCall call) {
  auto executor = co_await boost::asio::this_coro::executor;
  std::shared_ptr<Lane> lane = lane_of(executor);
  const MonoTime end = end_of(call);
  bool fresh = false;
  while (true) {
    WEIR_CO_TRY(std::unique_ptr<Lease> lease, co_await acquire(lane, fresh, end));
    bool late = false;
    LazyDeadline limit(clock_, executor, [&] {
      late = true;
      lease->stream->close();
    });
    auto progress = [&] { limit.set(std::min(end, clock_.now() + limits_.stall_max)); };
    progress();
    ExchangeTrace trace;
    auto answer = co_await exchange(*lease->stream, origin_, call, trace, progress);
    limit.clear();
    if (answer) {
      if (trace.keep_alive && !late) lease->keep(clock_.now());
      co_return answer;
    }
    if (late) {
      co_return fail(ErrorCode::kTimeout,
                     fmt::format("{} {}: no {} in time", call.method, to_string(origin_),
                                 trace.answered ? "whole answer" : "answer"));
    }
    // The server closed the connection while it lay idle, before it saw the request or after.
    bool stale = lease->reused && !trace.answered && call.repeatable && !fresh &&
                 answer.error().code == ErrorCode::kUnavailable;
    if (!stale) co_return std::unexpected(std::move(answer).error());
    fresh = true;
  }
}

}  // namespace weir::net

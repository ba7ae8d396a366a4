#include "net/http_client.h"

#include "net/http_exchange.h"
#include "runtime/lazy_deadline.h"
#include "runtime/oneshot.h"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace weir::net {

// The connections of one loop, and the calls that wait for one. Thread-safe: strands of one loop
// may run on several threads.
class HttpClient::Lane {
 public:
  explicit Lane(const boost::asio::execution_context& loop) : loop_(loop) {}

  [[nodiscard]] bool is_of(const boost::asio::execution_context& loop) const {
    return &loop_ == &loop;
  }

  // The right to a connection: nothing when it is taken at once, else the number of one who waits
  // for `granted`.
  std::optional<std::uint64_t> take_right(std::size_t max, const OneShot<bool>& granted) {
    std::lock_guard lock(mutex_);
    if (in_use_ < max) {
      ++in_use_;
      return std::nullopt;
    }
    waiting_.emplace(++last_waiter_, granted);
    return last_waiter_;
  }
  // False: the right was granted meanwhile.
  bool stop_waiting(std::uint64_t waiter) {
    std::lock_guard lock(mutex_);
    return waiting_.erase(waiter) > 0;
  }

  // Hands the right to the first that waits for one.
  void release_right() {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      --in_use_;
      return;
    }
    waiting_.begin()->second.set(true);
    waiting_.erase(waiting_.begin());
  }

  // The youngest kept connection, if it was kept at `oldest` or later; the old ones end.
  std::unique_ptr<Stream> take_kept(MonoTime oldest) {
    std::vector<Kept> old;
    std::lock_guard lock(mutex_);
    auto young = std::ranges::find_if(kept_, [&](const Kept& one) { return one.since >= oldest; });
    std::move(kept_.begin(), young, std::back_inserter(old));
    kept_.erase(kept_.begin(), young);
    if (kept_.empty()) return nullptr;
    std::unique_ptr<Stream> stream = std::move(kept_.back().stream);
    kept_.pop_back();
    return stream;
  }
  void keep(std::unique_ptr<Stream> stream, MonoTime now) {
    std::lock_guard lock(mutex_);
    kept_.push_back({std::move(stream), now});
  }
  void drop_kept() {
    std::lock_guard lock(mutex_);
    kept_.clear();
  }

 private:
  struct Kept {
    std::unique_ptr<Stream> stream;
    MonoTime since;
  };

  const boost::asio::execution_context& loop_;
  std::mutex mutex_;
  std::size_t in_use_ = 0;
  std::vector<Kept> kept_;                          // the last is the youngest
  std::map<std::uint64_t, OneShot<bool>> waiting_;  // in the order of arrival
  std::uint64_t last_waiter_ = 0;
};

// The right to one connection, and the connection.
class HttpClient::Lease {
 public:
  explicit Lease(std::shared_ptr<Lane> lane) : lane_(std::move(lane)) {}
  ~Lease() {
    stream.reset();
    lane_->release_right();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  void keep(MonoTime now) { lane_->keep(std::move(stream), now); }

  std::unique_ptr<Stream> stream;
  bool reused = false;

 private:
  std::shared_ptr<Lane> lane_;
};

HttpClient::HttpClient(Connector& connector, Clock& clock, Origin origin,
                       const HttpClientLimits& limits)
    : connector_(connector), clock_(clock), origin_(std::move(origin)), limits_(limits) {}

HttpClient::~HttpClient() {
  for (const auto& lane : lanes_) lane->drop_kept();
}

std::shared_ptr<HttpClient::Lane> HttpClient::lane_of(const Executor& executor) {
  const auto& loop = boost::asio::query(executor, boost::asio::execution::context);
  std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) {
    if (lane->is_of(loop)) return lane;
  }
  lanes_.push_back(std::make_shared<Lane>(loop));
  return lanes_.back();
}

MonoTime HttpClient::end_of(const HttpCall& call) const {
  if (call.time_max > Duration::zero()) return clock_.now() + call.time_max;
  ByteCount bytes = call.body.empty() ? 0 : call.body.size();
  return clock_.now() + limits_.call_max +
         std::chrono::milliseconds(bytes * 1000 / limits_.slowest_bytes_per_second);
}

Task<Status> HttpClient::wait_for_right(const std::shared_ptr<Lane>& lane, MonoTime end) {
  OneShot<bool> granted;
  auto waiter = lane->take_right(limits_.connections_max, granted);
  if (!waiter) co_return Status();
  auto timer = clock_.call_at(end, co_await boost::asio::this_coro::executor,
                              [granted]() mutable { granted.set(false); });
  bool mine = co_await granted.wait();
  timer->cancel();
  if (mine || !lane->stop_waiting(*waiter)) co_return Status();
  co_return fail(ErrorCode::kTimeout, fmt::format("{}: none of {} connections became free in time",
                                                  to_string(origin_), limits_.connections_max));
}

Task<Result<std::unique_ptr<HttpClient::Lease>>> HttpClient::acquire(std::shared_ptr<Lane> lane,
                                                                     bool fresh, MonoTime end) {
  WEIR_CO_CHECK(co_await wait_for_right(lane, end));
  auto lease = std::make_unique<Lease>(lane);
  const MonoTime now = clock_.now();
  lease->stream = lane->take_kept(fresh ? MonoTime::max() : now - limits_.idle_max);
  lease->reused = lease->stream != nullptr;
  if (lease->reused) co_return lease;
  WEIR_CO_TRY(lease->stream,
              co_await connector_.connect(origin_, std::min(end, now + limits_.connect_max)));
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

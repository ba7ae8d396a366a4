#include "runtime/clock.h"

#include "runtime/oneshot.h"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace weir {
namespace {

// The Asio timer is touched on its executor only; cancelled_ is the flag that other threads set.
class AsioTimer final : public Timer, public std::enable_shared_from_this<AsioTimer> {
 public:
  AsioTimer(Executor executor, std::move_only_function<void()> callback)
      : executor_(executor), timer_(std::move(executor)), callback_(std::move(callback)) {}

  void start(MonoTime when) {
    boost::asio::dispatch(executor_, [self = shared_from_this(), when] {
      self->timer_.expires_at(
          std::chrono::time_point_cast<std::chrono::steady_clock::duration>(when));
      self->timer_.async_wait([self](const boost::system::error_code&) { self->fire(); });
    });
  }
  void cancel() override {
    if (cancelled_.exchange(true)) return;
    boost::asio::dispatch(executor_, [self = shared_from_this()] { self->timer_.cancel(); });
  }

 private:
  void fire() {
    auto callback = std::move(callback_);
    if (!cancelled_.exchange(true) && callback) callback();
  }

  Executor executor_;
  boost::asio::steady_timer timer_;
  std::move_only_function<void()> callback_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace

Task<void> Clock::sleep(Duration delay) {
  OneShot<bool> done;
  auto timer = call_after(delay, co_await boost::asio::this_coro::executor,
                          [done]() mutable { done.set(true); });
  co_await done.wait();
}

TimestampMs SystemClock::wall_ms() const {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

MonoTime SystemClock::now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

std::shared_ptr<Timer> SystemClock::call_at(MonoTime when, Executor executor,
                                            std::move_only_function<void()> callback) {
  auto timer = std::make_shared<AsioTimer>(std::move(executor), std::move(callback));
  timer->start(when);
  return timer;
}

}  // namespace weir

#include "metadata/log/tail_watch.h"

#include <boost/asio/this_coro.hpp>

namespace weir::metadata {

void TailWatch::set(Position tail) {
  std::vector<OneShot<bool>> woken;
  {
    std::lock_guard lock(mutex_);
    woken = take(tail, tail < tail_);
    tail_ = tail;
  }
  for (OneShot<bool>& waiter : woken) waiter.set(true);
}

void TailWatch::raise(Position tail) {
  std::vector<OneShot<bool>> woken;
  {
    std::lock_guard lock(mutex_);
    if (tail <= tail_) return;
    woken = take(tail, false);
    tail_ = tail;
  }
  for (OneShot<bool>& waiter : woken) waiter.set(true);
}

std::vector<OneShot<bool>> TailWatch::take(Position tail, bool everybody) {
  std::vector<OneShot<bool>> taken;
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (!everybody && waiter.position >= tail) return false;
    taken.push_back(waiter.woken);
    return true;
  });
  return taken;
}

Task<void> TailWatch::wait_past(Position position, Clock& clock, MonoTime deadline) {
  OneShot<bool> woken;
  {
    std::lock_guard lock(mutex_);
    if (tail_ > position) co_return;
    // Waiters whose deadline passed are dropped here, so that they do not pile up while the log
    // rests.
    std::erase_if(waiters_, [](const Waiter& waiter) { return waiter.woken.is_set(); });
    waiters_.push_back({position, woken});
  }
  auto timer = clock.call_at(deadline, co_await boost::asio::this_coro::executor,
                             [woken]() mutable { woken.set(false); });
  co_await woken.wait();
  timer->cancel();
}

Position TailWatch::tail() const {
  std::lock_guard lock(mutex_);
  return tail_;
}

}  // namespace weir::metadata

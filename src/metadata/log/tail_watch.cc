#include "metadata/log/tail_watch.h"

#include <boost/asio/this_coro.hpp>

namespace weir::metadata {

void TailWatch::set(Position tail) {
  std::vector<OneShot<bool>> woken;
  {
    std::lock_guard lock(mutex_);
    const bool shorter = tail < tail_;
    tail_ = tail;
    std::erase_if(waiters_, [&](const Waiter& waiter) {
      if (!shorter && waiter.position >= tail) return false;
      woken.push_back(waiter.woken);
      return true;
    });
  }
  for (OneShot<bool>& waiter : woken) waiter.set(true);
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

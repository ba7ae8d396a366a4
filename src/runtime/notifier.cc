#include "runtime/notifier.h"

#include <boost/asio/this_coro.hpp>

namespace weir {

void Notifier::notify() {
  std::lock_guard lock(mutex_);
  bool woke = false;
  for (OneShot<bool>& waiter : waiters_) woke |= waiter.try_set(true);
  waiters_.clear();
  // Those whose deadline passed a moment ago are not woken by this.
  if (!woke) pending_ = true;
}

OneShot<bool> Notifier::enlist() {
  OneShot<bool> waiter;
  std::lock_guard lock(mutex_);
  if (pending_) {
    pending_ = false;
    waiter.set(true);
    return waiter;
  }
  // Waiters whose deadline passed are dropped here, so that they do not pile up without a notify().
  std::erase_if(waiters_, [](const OneShot<bool>& w) { return w.is_set(); });
  waiters_.push_back(waiter);
  return waiter;
}

Task<void> Notifier::wait() {
  OneShot<bool> waiter = enlist();
  co_await waiter.wait();
}

Task<bool> Notifier::wait_until(Clock& clock, MonoTime deadline) {
  OneShot<bool> waiter = enlist();
  auto timer = clock.call_at(deadline, co_await boost::asio::this_coro::executor,
                             [waiter]() mutable { waiter.set(false); });
  bool notified = co_await waiter.wait();
  timer->cancel();
  co_return notified;
}

}  // namespace weir

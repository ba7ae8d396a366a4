#include "runtime/byte_budget.h"

#include "base/planted.h"

#include <algorithm>

namespace weir {

Task<ByteBudget::Reservation> ByteBudget::reserve(ByteCount bytes, std::stop_token stop) {
  if (Reservation now = try_reserve(bytes)) co_return now;
  co_return co_await wait({.bytes = bytes, .extends = false, .granted = {}}, std::move(stop));
}

ByteBudget::Reservation ByteBudget::try_reserve(ByteCount bytes) {
  {
    std::lock_guard lock(mutex_);
    if (!waiters_.empty() || !fits(bytes)) return nullptr;
    used_ += bytes;
  }
  return handle(bytes);
}

ByteBudget::Reservation ByteBudget::try_extend(ByteCount bytes) {
  {
    std::lock_guard lock(mutex_);
    if (!fits(bytes)) return nullptr;
    used_ += bytes;
  }
  return handle(bytes);
}

ByteBudget::Reservation ByteBudget::exchange(Reservation held, ByteCount bytes) {
  {
    std::lock_guard lock(mutex_);
    used_ += bytes;
  }
  held.reset();
  return handle(bytes);
}

Task<ByteBudget::Reservation> ByteBudget::extend_to_end(ByteCount bytes, std::stop_token stop) {
  co_return co_await wait({.bytes = bytes, .extends = true, .granted = {}}, std::move(stop));
}

Task<ByteBudget::Reservation> ByteBudget::wait(Waiter waiter, std::stop_token stop) {
  OneShot<bool> granted = waiter.granted;
  auto place = enqueue(waiter);
  std::stop_callback on_stop(std::move(stop), [&] { give_up(place, granted); });
  if (!co_await granted.wait()) co_return nullptr;
  co_return handle(waiter.bytes);
}

std::list<ByteBudget::Waiter>::iterator ByteBudget::enqueue(const Waiter& waiter) {
  std::lock_guard lock(mutex_);
  auto before = waiter.extends
                    ? std::ranges::find_if(waiters_, [](const Waiter& w) { return !w.extends; })
                    : waiters_.end();
  auto place = waiters_.insert(before, waiter);
  grant();
  return place;
}

// Called with the lock held. set() only posts, it runs nobody's code.
void ByteBudget::grant() {
  while (!waiters_.empty() && grantable(waiters_.front())) {
    used_ += waiters_.front().bytes;
    waiters_.front().granted.set(true);
    waiters_.pop_front();
  }
}

void ByteBudget::give_up(std::list<Waiter>::iterator waiter, const OneShot<bool>& granted) {
  std::lock_guard lock(mutex_);
  // Set: granted a moment ago, and no longer in the list.
  if (granted.is_set()) return;
  waiter->granted.set(false);
  waiters_.erase(waiter);
  // The one behind may need less.
  grant();
}

ByteCount ByteBudget::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

std::size_t ByteBudget::waiting() const {
  std::lock_guard lock(mutex_);
  return waiters_.size();
}

ByteBudget::Reservation ByteBudget::handle(ByteCount bytes) {
  return {this, [bytes](ByteBudget* budget) { budget->release(bytes); }};
}

void ByteBudget::release(ByteCount bytes) {
  std::lock_guard lock(mutex_);
  used_ -= planted(Bug::kMemoryKept) ? bytes - bytes / 16 : bytes;
  grant();
}

}  // namespace weir

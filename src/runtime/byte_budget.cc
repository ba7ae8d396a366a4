#include "runtime/byte_budget.h"

#include <vector>

namespace weir {

Task<ByteBudget::Reservation> ByteBudget::reserve(ByteCount bytes) {
  OneShot<bool> granted;
  {
    std::lock_guard lock(mutex_);
    if (waiters_.empty() && fits(bytes)) {
      used_ += bytes;
      granted.set(true);
    } else {
      waiters_.push_back({bytes, granted});
    }
  }
  co_await granted.wait();
  co_return handle(bytes);
}

ByteCount ByteBudget::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

ByteBudget::Reservation ByteBudget::handle(ByteCount bytes) {
  return {this, [bytes](ByteBudget* budget) { budget->release(bytes); }};
}

void ByteBudget::release(ByteCount bytes) {
  std::vector<OneShot<bool>> granted;
  {
    std::lock_guard lock(mutex_);
    used_ -= bytes;
    while (!waiters_.empty() && fits(waiters_.front().bytes)) {
      used_ += waiters_.front().bytes;
      granted.push_back(waiters_.front().granted);
      waiters_.pop_front();
    }
  }
  for (OneShot<bool>& waiter : granted) waiter.set(true);
}

}  // namespace weir

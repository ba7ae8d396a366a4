// A limit on memory: tasks reserve bytes before they allocate and wait, in order, while the budget is used up. The reservation
// is a handle that gives the bytes back when its last copy dies, from any thread. Thread-safe.
#pragma once
#include <deque>
#include <memory>
#include <mutex>

#include "base/units.h"
#include "runtime/oneshot.h"
#include "runtime/task.h"

namespace weir {

class ByteBudget {
 public:
  explicit ByteBudget(ByteCount limit) : limit_(limit) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // Dropping the last copy releases the bytes.
  using Reservation = std::shared_ptr<const void>;

  // Waits until `bytes` are free. A request above the whole limit is let through alone, when nothing else is reserved.
  Task<Reservation> reserve(ByteCount bytes);
  [[nodiscard]] ByteCount used() const;
  [[nodiscard]] ByteCount limit() const { return limit_; }

 private:
  struct Waiter {
    ByteCount bytes;
    OneShot<bool> granted;
  };

  [[nodiscard]] bool fits(ByteCount bytes) const { return used_ == 0 || used_ + bytes <= limit_; }
  Reservation handle(ByteCount bytes);
  void release(ByteCount bytes);

  const ByteCount limit_;
  mutable std::mutex mutex_;
  ByteCount used_ = 0;
  std::deque<Waiter> waiters_;
};

}  // namespace weir

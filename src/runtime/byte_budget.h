// A limit on memory: tasks reserve bytes before they allocate and wait, in order, while the budget
// is used up. The reservation is a handle that gives the bytes back when its last copy dies, from
// any thread. Thread-safe; outlives its reservations.
//
// Who cannot tell beforehand how much it will really need (a frame whose size is only claimed)
// reserves a first part and extends it as bytes arrive. Extensions go ahead of new reservations and
// may overdraw the budget, so that tasks that each hold a part never wait for each other for ever;
// a further one waits until the overdraft is gone, so it is at most one extension.
#pragma once
#include "base/units.h"
#include "runtime/oneshot.h"
#include "runtime/task.h"

#include <list>
#include <memory>
#include <mutex>
#include <stop_token>

namespace weir {

class ByteBudget {
 public:
  explicit ByteBudget(ByteCount limit) : limit_(limit) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // Dropping the last copy releases the bytes.
  using Reservation = std::shared_ptr<const void>;

  // Waits until `bytes` are free, or `stop` is requested: then the answer is null. A request above
  // the whole limit is let through alone, when nothing else is reserved.
  Task<Reservation> reserve(ByteCount bytes, std::stop_token stop = {});
  // The same without waiting: null when it would have to wait.
  [[nodiscard]] Reservation try_reserve(ByteCount bytes);

  // For one that holds a reservation already: null when `bytes` are not free at once.
  [[nodiscard]] Reservation try_extend(ByteCount bytes);
  // The whole rest of what the caller can ever need, which may overdraw the budget. Null: `stop`
  // was requested.
  Task<Reservation> extend_to_end(ByteCount bytes, std::stop_token stop = {});

  // Another handle in the place of `held`, for what it turned out to be: not more.
  [[nodiscard]] Reservation exchange(Reservation held, ByteCount bytes);

  [[nodiscard]] ByteCount used() const;
  [[nodiscard]] ByteCount limit() const { return limit_; }
  // Tasks that wait.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Waiter {
    ByteCount bytes;
    bool extends;
    OneShot<bool> granted;
  };

  [[nodiscard]] bool fits(ByteCount bytes) const { return used_ == 0 || used_ + bytes <= limit_; }
  [[nodiscard]] bool grantable(const Waiter& waiter) const {
    return waiter.extends ? used_ <= limit_ : fits(waiter.bytes);
  }
  Task<Reservation> wait(Waiter waiter, std::stop_token stop);
  std::list<Waiter>::iterator enqueue(const Waiter& waiter);
  void grant();
  void give_up(std::list<Waiter>::iterator waiter, const OneShot<bool>& granted);
  Reservation handle(ByteCount bytes);
  void release(ByteCount bytes);

  const ByteCount limit_;
  mutable std::mutex mutex_;
  ByteCount used_ = 0;
  std::list<Waiter> waiters_;  // extensions first, each kind in order of arrival
};

}  // namespace weir

// A wake-up without a value: notify() from any thread wakes every task that waits, or lets the next
// wait() return at once. Spurious wake-ups happen; callers look at their condition again.
#pragma once
#include "runtime/clock.h"
#include "runtime/oneshot.h"
#include "runtime/task.h"

#include <mutex>
#include <optional>
#include <vector>

namespace weir {

class Notifier {
 public:
  void notify();
  // Until the next notify().
  Task<void> wait();
  // The same, at most until `deadline`. False: the deadline passed.
  Task<bool> wait_until(Clock& clock, MonoTime deadline);

 private:
  OneShot<bool> enlist();

  std::mutex mutex_;
  bool pending_ = false;
  std::vector<OneShot<bool>> waiters_;
};

}  // namespace weir

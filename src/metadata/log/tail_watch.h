// Those who wait for a log to grow. Shared by the backends: they set() the tail they saw, tasks
// wait_past() it. Thread-safe.
#pragma once
#include "metadata/log/metadata_log.h"
#include "runtime/clock.h"
#include "runtime/oneshot.h"

#include <mutex>
#include <vector>

namespace weir::metadata {

class TailWatch {
 public:
  // The log ends at `tail` now. Wakes those who wait for less, and everybody when the log became
  // shorter (a restored log).
  void set(Position tail);
  // The log reaches to `tail` at least.
  void raise(Position tail);
  // Until the log grew past `position`, became shorter, or `deadline`.
  Task<void> wait_past(Position position, Clock& clock, MonoTime deadline);
  [[nodiscard]] Position tail() const;

 private:
  struct Waiter {
    Position position;
    OneShot<bool> woken;
  };

  [[nodiscard]] std::vector<OneShot<bool>> take(Position tail, bool everybody);

  mutable std::mutex mutex_;
  Position tail_ = 0;
  std::vector<Waiter> waiters_;
};

}  // namespace weir::metadata

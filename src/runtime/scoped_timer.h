// A timer that ends with its owner, so that it keeps no memory after that. Not thread-safe.
#pragma once
#include "runtime/clock.h"

#include <memory>
#include <utility>

namespace weir {

class ScopedTimer {
 public:
  ScopedTimer() = default;
  explicit ScopedTimer(std::shared_ptr<Timer> timer) : timer_(std::move(timer)) {}
  ScopedTimer(ScopedTimer&&) = default;
  ScopedTimer& operator=(ScopedTimer&& other) noexcept {
    if (this == &other) return *this;
    cancel();
    timer_ = std::move(other.timer_);
    return *this;
  }
  ~ScopedTimer() { cancel(); }

  void cancel() {
    if (auto timer = std::exchange(timer_, nullptr)) timer->cancel();
  }
  // Whether it was set and has not been cancelled; it may have fired.
  [[nodiscard]] explicit operator bool() const { return timer_ != nullptr; }

 private:
  std::shared_ptr<Timer> timer_;
};

}  // namespace weir

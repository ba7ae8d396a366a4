#include "runtime/test_loop.h"

#include <boost/asio/post.hpp>

namespace weir {

class ManualClock::Entry final : public Timer {
 public:
  Entry(Executor executor, std::move_only_function<void()> callback)
      : executor_(std::move(executor)), callback_(std::move(callback)) {}
  void cancel() override { cancelled_ = true; }
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  void post(std::shared_ptr<Entry> self) {
    // The executor of a cancelled timer may be gone.
    if (cancelled_) return;
    boost::asio::post(executor_, [self = std::move(self)] {
      if (!self->cancelled_.exchange(true)) self->callback_();
    });
  }

 private:
  Executor executor_;
  std::move_only_function<void()> callback_;
  std::atomic<bool> cancelled_ = false;
};

TimestampMs ManualClock::wall_ms() const {
  std::lock_guard lock(mutex_);
  return wall_ms_ +
         std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch()).count();
}

MonoTime ManualClock::now() const {
  std::lock_guard lock(mutex_);
  return now_;
}

std::shared_ptr<Timer> ManualClock::call_at(MonoTime when, Executor executor,
                                            std::move_only_function<void()> callback) {
  auto entry = std::make_shared<Entry>(std::move(executor), std::move(callback));
  std::lock_guard lock(mutex_);
  if (when <= now_) {
    entry->post(entry);
  } else {
    timers_.emplace(when, entry);
  }
  return entry;
}

void ManualClock::advance(Duration by) {
  std::lock_guard lock(mutex_);
  now_ += by;
  while (!timers_.empty() && timers_.begin()->first <= now_) {
    auto entry = timers_.begin()->second;
    timers_.erase(timers_.begin());
    entry->post(entry);
  }
}

std::size_t ManualClock::pending() const {
  std::lock_guard lock(mutex_);
  std::size_t live = 0;
  for (const auto& [when, entry] : timers_) live += entry->cancelled() ? 0 : 1;
  return live;
}

}  // namespace weir

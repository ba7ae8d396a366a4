// Published<T>: an immutable value that one thread replaces and many threads read. Readers never
// wait for the writer's work and do not share a lock or a reference count with each other: each
// thread has a slot, with its own lock and its own handle. A reader that knows (by a lock, a
// message, …) that set() returned sees that value or a later one.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

namespace weir {

// A small number that is this thread's own for as long as there are few threads.
[[nodiscard]] std::size_t thread_slot();

template <typename T>
class Published {
 public:
  explicit Published(std::shared_ptr<const T> value) { set(std::move(value)); }

  [[nodiscard]] std::shared_ptr<const T> get() const {
    const Slot& slot = slots_[thread_slot() % kSlots];
    std::lock_guard lock(slot.mutex);
    return slot.value;
  }

  // One thread at a time.
  void set(std::shared_ptr<const T> value) {
    for (Slot& slot : slots_) {
      // A handle to the handle has a reference count of its own.
      auto handle = std::make_shared<std::shared_ptr<const T>>(value);
      std::shared_ptr<const T> own(handle, handle->get());
      std::lock_guard lock(slot.mutex);
      slot.value.swap(own);
    }
  }

 private:
  static constexpr std::size_t kSlots = 16;
  struct alignas(64) Slot {
    mutable std::mutex mutex;
    std::shared_ptr<const T> value;
  };

  std::array<Slot, kSlots> slots_;
};

}  // namespace weir

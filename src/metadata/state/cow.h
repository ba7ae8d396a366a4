// CowPtr<T>: a value that copies share until one of them changes it. Copying costs one reference
// count whatever T's size; write() gives the value for changing and makes a private copy first when
// others hold it too. This is how the state is frozen for a snapshot within milliseconds: the
// snapshot copies pointers, the state goes on and copies what it then touches.
//
// Different copies may be used, and destroyed, by different threads; one copy belongs to one thread
// at a time.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace weir::metadata {

template <typename T>
class CowPtr {
 public:
  CowPtr() = default;
  // A fresh value, held by this pointer alone.
  template <typename... Args>
  [[nodiscard]] static CowPtr make(Args&&... args) {
    return CowPtr(new Box{{1}, T(std::forward<Args>(args)...)});
  }
  CowPtr(const CowPtr& other) : box_(other.box_) {
    if (box_ != nullptr) box_->references.fetch_add(1, std::memory_order_relaxed);
  }
  CowPtr(CowPtr&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  CowPtr& operator=(CowPtr other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~CowPtr() {
    if (box_ != nullptr && box_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete box_;
  }

  explicit operator bool() const { return box_ != nullptr; }
  const T& operator*() const { return box_->value; }
  const T* operator->() const { return &box_->value; }
  // The same value, not merely an equal one: nothing changed between the two.
  [[nodiscard]] bool same_as(const CowPtr& other) const { return box_ == other.box_; }

  // The value for changing; not for an empty pointer.
  T& write() {
    // Acquire: what another thread read through a copy it has dropped happened before our writes.
    if (box_->references.load(std::memory_order_acquire) != 1)
      *this = make(std::as_const(box_->value));
    return box_->value;
  }

 private:
  struct Box {
    std::atomic<std::uint32_t> references;
    T value;
  };
  explicit CowPtr(Box* box) : box_(box) {}

  Box* box_ = nullptr;
};

}  // namespace weir::metadata

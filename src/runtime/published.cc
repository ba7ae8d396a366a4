#include "runtime/published.h"

namespace weir {

std::size_t thread_slot() {
  static std::atomic<std::size_t> next = 0;
  thread_local const std::size_t slot = next.fetch_add(1, std::memory_order_relaxed);
  return slot;
}

}  // namespace weir

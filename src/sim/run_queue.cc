#include "sim/run_queue.h"

namespace weir::sim {

RunQueue::~RunQueue() {
  shutdown();
  // The end of a task may post another function.
  while (!functions_.empty()) {
    const Function dropped = std::move(functions_.front());
    functions_.pop_front();
  }
}

bool RunQueue::run_one() {
  if (functions_.empty()) return false;
  Function next = std::move(functions_.front());
  functions_.pop_front();
  is_running_ = true;
  next();
  is_running_ = false;
  return true;
}

}  // namespace weir::sim

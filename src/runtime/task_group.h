// Background work with an owner: spawn() starts a task, stop() asks all to end and join() waits
// until they have. No task runs outside a group. A task sees the request to end through stopping()
// and is woken from sleep() by it. An exception that leaves a task ends the process: it is a bug.
#pragma once
#include "runtime/clock.h"
#include "runtime/notifier.h"
#include "runtime/task.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

namespace weir {

class TaskGroup {
 public:
  TaskGroup() = default;
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  // All tasks must have ended.
  ~TaskGroup();

  void spawn(const Executor& executor, Task<void> task);
  [[nodiscard]] bool stopping() const { return stopping_; }
  void stop();
  // Sleeps for `delay`, or until stop(). False: stopping.
  Task<bool> sleep(Clock& clock, Duration delay);
  // Waits until every task has ended.
  Task<void> join();
  [[nodiscard]] std::size_t running() const { return running_; }

 private:
  void finished();

  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> running_ = 0;
  std::mutex mutex_;
  std::vector<OneShot<bool>> sleepers_;
  std::vector<OneShot<bool>> joiners_;
};

}  // namespace weir

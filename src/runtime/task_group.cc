#include "runtime/task_group.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace weir {
namespace {

[[noreturn]] void die(const std::exception_ptr& error) {
  std::string what = "unknown exception";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
    what = "an exception that is no std::exception";
  }
  fmt::print(stderr, "fatal: an exception left a background task: {}\n", what);
  std::abort();
}

}  // namespace

TaskGroup::~TaskGroup() {
  if (running_ == 0) return;
  fmt::print(stderr, "fatal: a task group dies with {} running tasks\n", running_.load());
  std::abort();
}

void TaskGroup::spawn(const Executor& executor, Task<void> task) {
  ++running_;
  boost::asio::co_spawn(executor, std::move(task), [this](const std::exception_ptr& error) {
    if (error) die(error);
    finished();
  });
}

void TaskGroup::finished() {
  std::vector<OneShot<bool>> joiners;
  {
    std::lock_guard lock(mutex_);
    if (--running_ != 0) return;
    joiners.swap(joiners_);
  }
  for (OneShot<bool>& joiner : joiners) joiner.set(true);
}

void TaskGroup::stop() {
  std::vector<OneShot<bool>> sleepers;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    sleepers.swap(sleepers_);
  }
  for (OneShot<bool>& sleeper : sleepers) sleeper.set(false);
}

Task<bool> TaskGroup::sleep(Clock& clock, Duration delay) {
  OneShot<bool> sleeper;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) co_return false;
    std::erase_if(sleepers_, [](const OneShot<bool>& s) { return s.is_set(); });
    sleepers_.push_back(sleeper);
  }
  auto timer = clock.call_after(delay, co_await boost::asio::this_coro::executor,
                                [sleeper]() mutable { sleeper.set(true); });
  bool slept = co_await sleeper.wait();
  timer->cancel();
  co_return slept;
}

Task<void> TaskGroup::join() {
  OneShot<bool> joiner;
  {
    std::lock_guard lock(mutex_);
    if (running_ == 0) co_return;
    joiners_.push_back(joiner);
  }
  co_await joiner.wait();
}

}  // namespace weir

#include "runtime/parallel.h"

#include "runtime/task_group.h"

#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace weir {
namespace {

struct Progress {
  std::size_t next = 0;
  Status result;
};

Task<void> work(Progress& progress, std::size_t count,
                const std::function<Task<Status>(std::size_t)>& body) {
  while (progress.result && progress.next < count) {
    Status done = co_await body(progress.next++);
    if (!done && progress.result) progress.result = std::move(done);
  }
}

}  // namespace

Task<Status> for_each_parallel(std::size_t count, std::size_t limit,
                               std::function<Task<Status>(std::size_t)> body) {
  Progress progress;
  TaskGroup group;
  Executor strand = boost::asio::make_strand(co_await boost::asio::this_coro::executor);
  for (std::size_t i = 0; i < std::min(count, limit); ++i) {
    group.spawn(strand, work(progress, count, body));
  }
  co_await group.join();
  co_return std::move(progress.result);
}

}  // namespace weir

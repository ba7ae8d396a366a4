#include "metadata/log/delayed_log.h"

namespace weir::metadata {

Task<Result<Appended>> DelayedLog::append(Slice entry, Position known) {
  const Duration delay = appends_.draw();
  const MonoTime begin = clock_.now();
  if (delay > Duration::zero()) co_await clock_.sleep(delay / 2);
  auto appended = co_await below().append(std::move(entry), known);
  if (const Duration left = begin + delay - clock_.now(); left > Duration::zero()) {
    co_await clock_.sleep(left);
  }
  co_return appended;
}

}  // namespace weir::metadata

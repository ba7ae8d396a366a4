#include "storage/watched_store.h"

#include "runtime/log.h"

#include <fmt/format.h>

namespace weir::storage {
namespace {

// A key that is taken is an answer, too.
bool is_answer(const Status& done) { return done || done.error().code == ErrorCode::kConflict; }

std::int64_t seconds_of(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

Task<Status> WatchedStore::put(ObjectKey key, Chain body, PutOptions options) {
  const MonoTime started = clock_.now();
  Status done = co_await inner_.put(std::move(key), std::move(body), options);
  if (is_answer(done)) {
    note_success();
  } else if (done.error().code != ErrorCode::kCancelled) {
    note_failure(started, done.error());
  }
  co_return done;
}

bool WatchedStore::is_old(const Failing& failing) const {
  return clock_.now() - failing.last >= policy_.old_after;
}

bool WatchedStore::is_down(const Failing& failing) const {
  return failing.last - failing.since >= policy_.down_after && !is_old(failing);
}

void WatchedStore::note_failure(MonoTime started, const Error& error) {
  std::lock_guard lock(mutex_);
  if (!failing_ || is_old(*failing_)) failing_ = Failing{started, {}, error};
  failing_->last = clock_.now();
  failing_->error = error;
  if (told_down_since_ || !is_down(*failing_)) return;
  told_down_since_ = failing_->since;
  log::warn("store.down",
            {{"seconds", seconds_of(failing_->last - failing_->since)}, {"error", error}});
}

void WatchedStore::note_success() {
  std::lock_guard lock(mutex_);
  failing_.reset();
  if (!told_down_since_) return;
  log::info("store.up", {{"seconds", seconds_of(clock_.now() - *told_down_since_)}});
  told_down_since_.reset();
}

Status WatchedStore::status() const {
  std::lock_guard lock(mutex_);
  if (!failing_ || !is_down(*failing_)) return {};
  return std::unexpected(failing_->error.in(fmt::format(
      "the object store has taken no write for {} s", seconds_of(clock_.now() - failing_->since))));
}

}  // namespace weir::storage

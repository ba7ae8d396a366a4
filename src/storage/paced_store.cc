#include "storage/paced_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::storage {
namespace {

Gauge& limit_gauge(MetricsRegistry& registry, const char* calls) {
  return registry.gauge("weir_object_store_limit",
                        "Requests to the object store that may be under way; falls when the store "
                        "says that it is asked too much.",
                        {{"calls", calls}});
}

}  // namespace

PacedStore::Pace::Pace(const PacePolicy& policy, Gauge& shown)
    : policy_(policy), shown_(shown), limit_(policy.most) {
  shown_.set(static_cast<std::int64_t>(limit_));
}

Task<Result<std::uint64_t>> PacedStore::Pace::enter() {
  OneShot<std::uint64_t> let_in;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty() && has_room()) {
      ++in_flight_;
      co_return number_;
    }
    if (waiting_.size() >= policy_.waiting_max) {
      co_return fail(ErrorCode::kExhausted,
                     fmt::format("{} calls wait for the object store", waiting_.size()));
    }
    waiting_.push_back(let_in);
  }
  co_return co_await let_in.wait();
}

void PacedStore::Pace::leave(std::uint64_t number, bool succeeded, bool throttled) {
  std::lock_guard lock(mutex_);
  const bool was_full = !has_room();
  --in_flight_;
  // Calls that were under way together are told the same thing: it counts once.
  if (throttled && number == number_) {
    ++number_;
    limit_ = std::max(policy_.least, limit_ * policy_.cut);
  } else if (succeeded && was_full) {
    limit_ = std::min(policy_.most, limit_ + 1 / limit_);
  }
  shown_.set(static_cast<std::int64_t>(limit_));
  while (!waiting_.empty() && has_room()) {
    ++in_flight_;
    waiting_.front().set(number_);
    waiting_.pop_front();
  }
}

PacedStore::PacedStore(ObjectStore& inner, MetricsRegistry& registry, const PacePolicy& policy)
    : inner_(inner),
      reads_(policy, limit_gauge(registry, "reads")),
      writes_(policy, limit_gauge(registry, "writes")) {}

template <typename Answer>
Task<Answer> PacedStore::run(Pace& pace, Task<Answer> call) {
  WEIR_CO_TRY(std::uint64_t number, co_await pace.enter());
  Answer answer = co_await std::move(call);
  pace.leave(number, answer.has_value(), !answer && answer.error().code == ErrorCode::kThrottled);
  co_return answer;
}

Task<Status> PacedStore::put(ObjectKey key, Chain body, PutOptions options) {
  return run(writes_, inner_.put(std::move(key), std::move(body), options));
}

Task<Result<Slice>> PacedStore::get(ObjectKey key) {
  return run(reads_, inner_.get(std::move(key)));
}

Task<Result<Slice>> PacedStore::get_range(ObjectKey key, ByteRange range) {
  return run(reads_, inner_.get_range(std::move(key), range));
}

Task<Result<ObjectInfo>> PacedStore::head(ObjectKey key) {
  return run(reads_, inner_.head(std::move(key)));
}

Task<Status> PacedStore::remove(std::vector<ObjectKey> keys) {
  return run(writes_, inner_.remove(std::move(keys)));
}

Task<Result<ListPage>> PacedStore::list(std::string prefix, std::string after, std::size_t limit) {
  return run(reads_, inner_.list(std::move(prefix), std::move(after), limit));
}

}  // namespace weir::storage

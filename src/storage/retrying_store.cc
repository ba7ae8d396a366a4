#include "storage/retrying_store.h"

#include "runtime/backoff.h"

#include <fmt/format.h>

#include <cstring>

namespace weir::storage {
namespace {

bool same_bytes(const Chain& chain, Bytes bytes) {
  if (chain.size() != bytes.size()) return false;
  for (const Slice& slice : chain.slices()) {
    if (std::memcmp(slice.data(), bytes.data(), slice.size()) != 0) return false;
    bytes = bytes.subspan(slice.size());
  }
  return true;
}

}  // namespace

struct RetryingStore::Attempts {
  Attempts(const RetryPolicy& policy, MonoTime now, TaskGroup& group)
      : delays(group), started(now), backoff(policy.first_delay, policy.max_delay) {}

  TaskGroup& delays;
  MonoTime started;
  Backoff backoff;
  int made = 1;
};

Task<bool> RetryingStore::wait_after(Attempts& attempts, Error& error) {
  if (!is_retriable(error.code)) co_return false;
  Duration delay{};
  {
    std::lock_guard lock(mutex_);
    delay = attempts.backoff.next(rng_);
  }
  Duration spent = clock_.now() - attempts.started;
  bool again = spent + delay <= policy_.deadline && co_await attempts.delays.sleep(clock_, delay);
  if (again) {
    ++attempts.made;
  } else if (attempts.made > 1) {
    auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(spent).count();
    error = error.in(fmt::format("given up after {} attempts in {} ms", attempts.made, ms));
  }
  co_return again;
}

template <typename Answer, typename Call>
Task<Answer> RetryingStore::retry(Attempts& attempts, Call call) {
  while (true) {
    Answer answer = co_await call();
    if (answer || !co_await wait_after(attempts, answer.error())) co_return answer;
  }
}

template <typename Answer, typename Call>
Task<Answer> RetryingStore::retry(TaskGroup& delays, Call call) {
  Attempts attempts(policy_, clock_.now(), delays);
  co_return co_await retry<Answer>(attempts, std::move(call));
}

Task<Status> RetryingStore::put(ObjectKey key, Chain body, PutOptions options) {
  Attempts attempts(policy_, clock_.now(), delays_);
  auto call = [this, &key, &body, options] { return inner_.put(key, body, options); };
  Status done = co_await retry<Status>(attempts, call);
  bool may_be_own = !done && done.error().code == ErrorCode::kConflict && attempts.made > 1;
  if (!may_be_own) co_return done;
  co_return co_await settle_conflict(std::move(key), std::move(body), std::move(done).error());
}

Task<Status> RetryingStore::settle_conflict(ObjectKey key, Chain body, Error conflict) {
  Result<Slice> stored = co_await get(std::move(key));
  if (stored && same_bytes(body, stored->bytes())) co_return Status{};
  if (stored || stored.error().code == ErrorCode::kNotFound)
    co_return std::unexpected(std::move(conflict));
  co_return fail(ErrorCode::kTimeout, "outcome of the put unknown: " + stored.error().to_string());
}

Task<Result<Slice>> RetryingStore::get(ObjectKey key) {
  return retry<Result<Slice>>(read_delays_,
                              [this, key = std::move(key)] { return inner_.get(key); });
}

Task<Result<Slice>> RetryingStore::get_range(ObjectKey key, ByteRange range) {
  return retry<Result<Slice>>(
      read_delays_, [this, key = std::move(key), range] { return inner_.get_range(key, range); });
}

Task<Result<ObjectInfo>> RetryingStore::head(ObjectKey key) {
  return retry<Result<ObjectInfo>>(read_delays_,
                                   [this, key = std::move(key)] { return inner_.head(key); });
}

Task<Status> RetryingStore::remove(std::vector<ObjectKey> keys) {
  return retry<Status>(delays_, [this, keys = std::move(keys)] { return inner_.remove(keys); });
}

Task<Result<ListPage>> RetryingStore::list(std::string prefix, std::string after,
                                           std::size_t limit) {
  return retry<Result<ListPage>>(
      read_delays_, [this, prefix = std::move(prefix), after = std::move(after), limit] {
        return inner_.list(prefix, after, limit);
      });
}

}  // namespace weir::storage

#include "storage/faulty_store.h"

#include <numeric>

namespace weir::storage {

void StoreGate::open() {
  std::vector<OneShot<bool>> waiters;
  {
    std::lock_guard lock(mutex_);
    is_open_ = true;
    waiters.swap(waiters_);
  }
  for (OneShot<bool>& waiter : waiters) waiter.set(true);
}

Task<void> StoreGate::wait() {
  OneShot<bool> opened;
  {
    std::lock_guard lock(mutex_);
    if (is_open_) co_return;
    waiters_.push_back(opened);
  }
  co_await opened.wait();
}

void FaultyStore::set_plan(Plan plan) {
  std::lock_guard lock(mutex_);
  plan_ = std::move(plan);
}

void FaultyStore::fail_call(std::size_t nth, Error error, bool takes_effect) {
  std::size_t number = calls() + nth;
  set_plan([number, error = std::move(error), takes_effect](const StoreCall& call) {
    StoreFault fault;
    if (call.number == number) {
      fault.error = error;
      fault.takes_effect = takes_effect;
    }
    return fault;
  });
}

std::size_t FaultyStore::calls() const {
  std::lock_guard lock(mutex_);
  return std::accumulate(calls_.begin(), calls_.end(), std::size_t{0});
}

std::size_t FaultyStore::calls(StoreOperation operation) const {
  std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(operation)];
}

StoreFault FaultyStore::next(StoreOperation operation, const std::string& key) {
  std::lock_guard lock(mutex_);
  ++calls_[static_cast<std::size_t>(operation)];
  if (!plan_) return {};
  return plan_({operation, key, std::accumulate(calls_.begin(), calls_.end(), std::size_t{0})});
}

template <typename Answer, typename Call>
Task<Answer> FaultyStore::perform(StoreOperation operation, std::string key, Call call) {
  StoreFault fault = next(operation, key);
  if (fault.delay > Duration::zero()) co_await clock_.sleep(fault.delay);
  if (fault.hold) co_await fault.hold->wait();
  if (!fault.error) co_return co_await call();
  if (fault.takes_effect) co_await call();
  co_return std::unexpected(*std::move(fault.error));
}

Task<Status> FaultyStore::put(ObjectKey key, Chain body, PutOptions options) {
  return perform<Status>(StoreOperation::kPut, key, [this, key, body = std::move(body), options] {
    return inner_.put(key, body, options);
  });
}

Task<Result<Slice>> FaultyStore::get(ObjectKey key) {
  return perform<Result<Slice>>(StoreOperation::kGet, key, [this, key] { return inner_.get(key); });
}

Task<Result<Slice>> FaultyStore::get_range(ObjectKey key, ByteRange range) {
  return perform<Result<Slice>>(StoreOperation::kGetRange, key,
                                [this, key, range] { return inner_.get_range(key, range); });
}

Task<Result<ObjectInfo>> FaultyStore::head(ObjectKey key) {
  return perform<Result<ObjectInfo>>(StoreOperation::kHead, key,
                                     [this, key] { return inner_.head(key); });
}

Task<Status> FaultyStore::remove(std::vector<ObjectKey> keys) {
  std::string first = keys.empty() ? "" : keys.front();
  return perform<Status>(StoreOperation::kRemove, std::move(first),
                         [this, keys = std::move(keys)] { return inner_.remove(keys); });
}

Task<Result<ListPage>> FaultyStore::list(std::string prefix, std::string after, std::size_t limit) {
  return perform<Result<ListPage>>(StoreOperation::kList, prefix, [this, prefix, after, limit] {
    return inner_.list(prefix, after, limit);
  });
}

}  // namespace weir::storage

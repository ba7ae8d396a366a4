#include "storage/delayed_store.h"

namespace weir::storage {

DelayedStore::DelayedStore(std::unique_ptr<ObjectStore> inner, Clock& clock,
                           const StoreLatency& latency, Rng rng)
    : inner_(std::move(inner)),
      clock_(clock),
      puts_(latency.put, Rng(rng.next())),
      gets_(latency.get, Rng(rng.next())) {}

// The store's own time is part of the delay.
template <typename Answer>
Task<Answer> DelayedStore::delay(LatencyModel& model, Task<Answer> call) {
  const MonoTime answered = clock_.now() + model.draw();
  Answer answer = co_await std::move(call);
  if (const Duration left = answered - clock_.now(); left > Duration::zero()) {
    co_await clock_.sleep(left);
  }
  co_return answer;
}

Task<Status> DelayedStore::put(ObjectKey key, Chain body, PutOptions options) {
  return delay(puts_, inner_->put(std::move(key), std::move(body), options));
}

Task<Result<Slice>> DelayedStore::get(ObjectKey key) {
  return delay(gets_, inner_->get(std::move(key)));
}

Task<Result<Slice>> DelayedStore::get_range(ObjectKey key, ByteRange range) {
  return delay(gets_, inner_->get_range(std::move(key), range));
}

Task<Result<ObjectInfo>> DelayedStore::head(ObjectKey key) {
  return delay(gets_, inner_->head(std::move(key)));
}

Task<Status> DelayedStore::remove(std::vector<ObjectKey> keys) {
  return inner_->remove(std::move(keys));
}

Task<Result<ListPage>> DelayedStore::list(std::string prefix, std::string after,
                                          std::size_t limit) {
  return inner_->list(std::move(prefix), std::move(after), limit);
}

}  // namespace weir::storage

// Counts the calls to another store: requests, errors by code, bytes, latencies, calls in flight.
// Below a RetryingStore it counts every attempt. Thread-safe; the store below, the registry and the
// clock outlive it.
#pragma once
#include "runtime/clock.h"
#include "runtime/metrics.h"
#include "storage/object_store.h"
#include "storage/store_operation.h"

#include <array>

namespace weir::storage {

class MeteredStore final : public ObjectStore {
 public:
  MeteredStore(ObjectStore& inner, Clock& clock, MetricsRegistry& registry);

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override;
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override;
  Task<Result<ObjectInfo>> head(ObjectKey key) override;
  Task<Status> remove(std::vector<ObjectKey> keys) override;
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override;

 private:
  struct Meters {
    Counter* requests;
    std::array<Counter*, kErrorCodes> errors;
    Counter* bytes;
    Histogram* seconds;
    Gauge* in_flight;
  };

  static Meters make_meters(MetricsRegistry& registry, StoreOperation operation);
  template <typename Answer>
  Task<Answer> meter(StoreOperation operation, Task<Answer> call);
  void add_bytes(StoreOperation operation, std::size_t bytes);

  ObjectStore& inner_;
  Clock& clock_;
  std::array<Meters, kStoreOperations.size()> meters_;
  Histogram& object_bytes_;
};

}  // namespace weir::storage

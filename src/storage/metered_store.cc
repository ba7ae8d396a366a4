#include "storage/metered_store.h"

#include <algorithm>
#include <string>

namespace weir::storage {

MeteredStore::Meters MeteredStore::make_meters(MetricsRegistry& registry,
                                               StoreOperation operation) {
  std::string name(to_string(operation));
  MetricLabels labels = {{"operation", name}};
  Meters meters{};
  meters.requests = &registry.counter("weir_object_store_requests_total",
                                      "Requests to the object store, with every retry.", labels);
  for (std::size_t i = 0; i < kErrorCodes; ++i) {
    std::string code(to_string(static_cast<ErrorCode>(i)));
    std::ranges::replace(code, ' ', '_');
    meters.errors[i] = &registry.counter("weir_object_store_errors_total",
                                         "Requests to the object store that answered an error.",
                                         {{"operation", name}, {"error", code}});
  }
  meters.bytes =
      &registry.counter("weir_object_store_bytes_total",
                        "Bytes of objects sent to and received from the object store.", labels);
  meters.seconds =
      &registry.histogram("weir_object_store_request_seconds",
                          "Time from a request to the object store to its answer, error or not.",
                          HistogramKind::kLatency, labels);
  meters.in_flight =
      &registry.gauge("weir_object_store_in_flight",
                      "Requests to the object store that wait for their answer.", labels);
  return meters;
}

MeteredStore::MeteredStore(ObjectStore& inner, Clock& clock, MetricsRegistry& registry)
    : inner_(inner),
      clock_(clock),
      object_bytes_(registry.histogram("weir_object_store_put_bytes", "Sizes of the objects put.",
                                       HistogramKind::kBytes)) {
  for (StoreOperation operation : kStoreOperations) {
    meters_[static_cast<std::size_t>(operation)] = make_meters(registry, operation);
  }
}

template <typename Answer>
Task<Answer> MeteredStore::meter(StoreOperation operation, Task<Answer> call) {
  Meters& meters = meters_[static_cast<std::size_t>(operation)];
  meters.requests->add();
  meters.in_flight->add(1);
  MonoTime start = clock_.now();
  Answer answer = co_await std::move(call);
  meters.seconds->observe(clock_.now() - start);
  meters.in_flight->add(-1);
  if (!answer) meters.errors[static_cast<std::size_t>(answer.error().code)]->add();
  co_return answer;
}

void MeteredStore::add_bytes(StoreOperation operation, std::size_t bytes) {
  meters_[static_cast<std::size_t>(operation)].bytes->add(bytes);
}

Task<Status> MeteredStore::put(ObjectKey key, Chain body, PutOptions options) {
  std::size_t size = body.size();
  Status done =
      co_await meter(StoreOperation::kPut, inner_.put(std::move(key), std::move(body), options));
  if (!done) co_return done;
  add_bytes(StoreOperation::kPut, size);
  object_bytes_.observe(size);
  co_return done;
}

Task<Result<Slice>> MeteredStore::get(ObjectKey key) {
  auto body = co_await meter(StoreOperation::kGet, inner_.get(std::move(key)));
  if (body) add_bytes(StoreOperation::kGet, body->size());
  co_return body;
}

Task<Result<Slice>> MeteredStore::get_range(ObjectKey key, ByteRange range) {
  auto body = co_await meter(StoreOperation::kGetRange, inner_.get_range(std::move(key), range));
  if (body) add_bytes(StoreOperation::kGetRange, body->size());
  co_return body;
}

Task<Result<ObjectInfo>> MeteredStore::head(ObjectKey key) {
  return meter(StoreOperation::kHead, inner_.head(std::move(key)));
}

Task<Status> MeteredStore::remove(std::vector<ObjectKey> keys) {
  return meter(StoreOperation::kRemove, inner_.remove(std::move(keys)));
}

Task<Result<ListPage>> MeteredStore::list(std::string prefix, std::string after,
                                          std::size_t limit) {
  return meter(StoreOperation::kList, inner_.list(std::move(prefix), std::move(after), limit));
}

}  // namespace weir::storage

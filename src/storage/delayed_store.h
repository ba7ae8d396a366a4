// A store that answers as slowly as a remote one: each PUT and GET is drawn a delay, which its call
// takes at least. For measuring what latency does without a remote store. Thread-safe; owns
// the store below, and the clock outlives it.
#pragma once
#include "runtime/clock.h"
#include "runtime/latency_model.h"
#include "storage/object_store.h"

#include <memory>

namespace weir::storage {

struct StoreLatency {
  LatencyQuantiles put;
  LatencyQuantiles get;  // HEAD, too
};

class DelayedStore final : public ObjectStore {
 public:
  DelayedStore(std::unique_ptr<ObjectStore> inner, Clock& clock, const StoreLatency& latency,
               Rng rng);

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override;
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override;
  Task<Result<ObjectInfo>> head(ObjectKey key) override;
  Task<Status> remove(std::vector<ObjectKey> keys) override;
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override;

 private:
  template <typename Answer>
  Task<Answer> delay(LatencyModel& model, Task<Answer> call);

  std::unique_ptr<ObjectStore> inner_;
  Clock& clock_;
  LatencyModel puts_;
  LatencyModel gets_;
};

}  // namespace weir::storage

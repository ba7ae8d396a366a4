// Limits how many calls to another store are under way, and halves the limit when the store says
// that it is too much (kThrottled); successes raise it again, by one for each round of calls:
// additive increase, multiplicative decrease. Reads and writes have limits of their own, as stores
// count them apart. Calls beyond the limit wait in order.
//
// Below a RetryingStore, which tries throttled calls again later. Thread-safe; the store below and
// the registry outlive it. kExhausted: too many calls wait.
#pragma once
#include "runtime/metrics.h"
#include "runtime/oneshot.h"
#include "storage/object_store.h"

#include <deque>
#include <mutex>

namespace weir::storage {

struct PacePolicy {
  double most = 256;  // calls under way, also at the start
  double least = 1;
  double cut = 0.5;
  std::size_t waiting_max = 10'000;
};

class PacedStore final : public ObjectStore {
 public:
  PacedStore(ObjectStore& inner, MetricsRegistry& registry, const PacePolicy& policy = {});

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override;
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override;
  Task<Result<ObjectInfo>> head(ObjectKey key) override;
  Task<Status> remove(std::vector<ObjectKey> keys) override;
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override;

 private:
  // Of reads or of writes.
  class Pace {
   public:
    Pace(const PacePolicy& policy, Gauge& shown);
    // The number of the limit that lets the call in.
    Task<Result<std::uint64_t>> enter();
    void leave(std::uint64_t number, bool succeeded, bool throttled);

   private:
    [[nodiscard]] bool has_room() const { return in_flight_ + 1 <= limit_; }

    const PacePolicy policy_;
    Gauge& shown_;
    std::mutex mutex_;
    double limit_;
    double in_flight_ = 0;
    std::uint64_t number_ = 0;  // counts the cuts
    std::deque<OneShot<std::uint64_t>> waiting_;
  };

  template <typename Answer>
  Task<Answer> run(Pace& pace, Task<Answer> call);

  ObjectStore& inner_;
  Pace reads_;
  Pace writes_;
};

}  // namespace weir::storage

// The object store as one broker reaches it: slow, failing, and unreachable when the broker is
// dead. The objects themselves are shared by all brokers.
#pragma once
#include "sim/faults.h"
#include "sim/world.h"
#include "storage/object_store.h"

namespace weir::sim {

class SimStore final : public storage::ObjectStore {
 public:
  SimStore(storage::ObjectStore& shared, World& world, Clock& clock, const Weather& weather);

  // The broker is dead: nothing it does has an effect any more.
  void cut() { is_cut_ = true; }

  Task<Status> put(storage::ObjectKey key, Chain body, storage::PutOptions options) override;
  Task<Result<Slice>> get(storage::ObjectKey key) override;
  Task<Result<Slice>> get_range(storage::ObjectKey key, storage::ByteRange range) override;
  Task<Result<storage::ObjectInfo>> head(storage::ObjectKey key) override;
  Task<Status> remove(std::vector<storage::ObjectKey> keys) override;
  Task<Result<storage::ListPage>> list(std::string prefix, std::string after,
                                       std::size_t limit) override;

 private:
  template <typename Answer>
  Task<Answer> perform(const char* name, std::string key, const CallFaults& faults,
                       std::function<Task<Answer>()> call);
  [[nodiscard]] bool is_down() const { return is_cut_ || weather_.store_down; }

  storage::ObjectStore& shared_;
  World& world_;
  Clock& clock_;
  const Weather& weather_;
  Rng rng_;
  bool is_cut_ = false;
};

}  // namespace weir::sim

// The object store as one broker reaches it: slow, failing, damaging what it answers, and
// unreachable when the broker is dead. The objects themselves are shared by all brokers.
#pragma once
#include "runtime/task_group.h"
#include "sim/faults.h"
#include "sim/witness.h"
#include "sim/world.h"
#include "storage/object_store.h"

namespace weir::sim {

// What all brokers share. Owned by the simulation.
class SimNode;

struct Outside {
  World& world;
  const Weather& weather;
  Machine& nature;  // where what happens late runs
  TaskGroup& late;
  storage::ObjectStore& store;
  metadata::MetadataLog& log;
  Witness& witness;
  const std::vector<SimNode*>& nodes;  // all, when the first one starts
  bool log_in_store = false;           // each broker has a log in `store`, and `log` is not used
};

// A broker process, as what is outside of it knows it.
struct Caller {
  BrokerId broker = 0;
  std::uint64_t process = 0;
  Clock& clock;
};

class SimStore final : public storage::ObjectStore {
 public:
  SimStore(Outside outside, Caller caller);

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
  [[nodiscard]] bool is_down() const {
    return is_cut_ || outside_.weather.store_down || outside_.weather.cut(caller_.broker).store;
  }
  Slice damage(Slice bytes, bool may_cut);

  Outside outside_;
  Caller caller_;
  Rng rng_;
  bool is_cut_ = false;
};

}  // namespace weir::sim

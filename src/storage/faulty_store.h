// For tests and the simulator: a store that passes calls on to another and fails, delays or holds
// those that the test names, before or after they took effect. Thread-safe.
#pragma once
#include "runtime/clock.h"
#include "runtime/oneshot.h"
#include "storage/object_store.h"
#include "storage/store_operation.h"

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace weir::storage {

struct StoreCall {
  StoreOperation operation = StoreOperation::kPut;
  std::string key;         // the first key, or the prefix of a list
  std::size_t number = 0;  // counts all calls from 1
};

// Holds calls until it is opened, for good.
class StoreGate {
 public:
  void open();
  Task<void> wait();

 private:
  std::mutex mutex_;
  bool is_open_ = false;
  std::vector<OneShot<bool>> waiters_;
};

// What happens to a call; the default is nothing.
struct StoreFault {
  Duration delay{};                 // before the call
  std::shared_ptr<StoreGate> hold;  // the call is made when it opens
  std::optional<Error> error;       // the answer
  bool takes_effect = false;        // with an error: the call is made, only its answer is lost
};

class FaultyStore final : public ObjectStore {
 public:
  using Plan = std::function<StoreFault(const StoreCall&)>;

  FaultyStore(ObjectStore& inner, Clock& clock) : inner_(inner), clock_(clock) {}

  // Asked for every call from now on, under a lock.
  void set_plan(Plan plan);
  // The nth call from now (1: the next) answers `error`; replaces the plan.
  void fail_call(std::size_t nth, Error error, bool takes_effect = false);
  // Calls made so far, in all or of one operation.
  [[nodiscard]] std::size_t calls() const;
  [[nodiscard]] std::size_t calls(StoreOperation operation) const;

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override;
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override;
  Task<Result<ObjectInfo>> head(ObjectKey key) override;
  Task<Status> remove(std::vector<ObjectKey> keys) override;
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override;

 private:
  // The fault of this call, and counts it.
  StoreFault next(StoreOperation operation, const std::string& key);
  template <typename Answer, typename Call>
  Task<Answer> perform(StoreOperation operation, std::string key, Call call);

  ObjectStore& inner_;
  Clock& clock_;
  mutable std::mutex mutex_;
  Plan plan_;
  std::array<std::size_t, kStoreOperations.size()> calls_{};
};

}  // namespace weir::storage

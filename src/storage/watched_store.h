// Tells whether another store takes what is put, by the puts that are tried anyway: it is down when
// they have failed for some seconds without a success between, and up with the next success. A
// failure that nothing followed grows old: a broker that takes no writes because of it would never
// find out. Says both in the log, once. Thread-safe; the store below and the clock outlive it.
#pragma once
#include "runtime/clock.h"
#include "storage/object_store.h"

#include <mutex>
#include <optional>

namespace weir::storage {

struct WatchPolicy {
  // From the beginning of the first put that failed.
  Duration down_after = std::chrono::seconds(3);
  // Since the end of the last one.
  Duration old_after = std::chrono::seconds(30);
};

class WatchedStore final : public ObjectStore {
 public:
  WatchedStore(ObjectStore& inner, Clock& clock, WatchPolicy policy = {})
      : inner_(inner), clock_(clock), policy_(policy) {}

  // An error while the store is down: why.
  [[nodiscard]] Status status() const;

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override { return inner_.get(std::move(key)); }
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override {
    return inner_.get_range(std::move(key), range);
  }
  Task<Result<ObjectInfo>> head(ObjectKey key) override { return inner_.head(std::move(key)); }
  Task<Status> remove(std::vector<ObjectKey> keys) override {
    return inner_.remove(std::move(keys));
  }
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override {
    return inner_.list(std::move(prefix), std::move(after), limit);
  }

 private:
  struct Failing {
    MonoTime since;  // when the first put that failed began
    MonoTime last;   // when the last one ended
    Error error;     // its answer
  };

  void note_failure(MonoTime started, const Error& error);
  void note_success();
  [[nodiscard]] bool is_old(const Failing& failing) const;
  [[nodiscard]] bool is_down(const Failing& failing) const;

  ObjectStore& inner_;
  Clock& clock_;
  const WatchPolicy policy_;
  mutable std::mutex mutex_;
  std::optional<Failing> failing_;
  // When puts began to fail, once the log has been told.
  std::optional<MonoTime> told_down_since_;
};

}  // namespace weir::storage

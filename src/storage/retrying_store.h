// Tries calls again whose error may go away (is_retriable), with growing delays, until a deadline.
// A put is tried with its whole body each time. Thread-safe; the store below outlives it.
//
// A put with if_absent that meets its own earlier attempt is a success: when a retry answers
// kConflict, the object is read and compared. Writers that race for one key must therefore write
// different bytes.
#pragma once
#include "runtime/clock.h"
#include "runtime/rng.h"
#include "runtime/task_group.h"
#include "storage/object_store.h"

#include <mutex>

namespace weir::storage {

struct RetryPolicy {
  Duration first_delay = std::chrono::milliseconds(50);
  Duration max_delay = std::chrono::seconds(2);
  // No attempt starts later than this after the call; one that runs is not cut off.
  Duration deadline = std::chrono::seconds(30);
};

class RetryingStore final : public ObjectStore {
 public:
  RetryingStore(ObjectStore& inner, Clock& clock, Rng rng, RetryPolicy policy)
      : inner_(inner), clock_(clock), policy_(policy), rng_(rng) {}

  // From now on no call is tried again; those that wait for their next attempt answer their last
  // error.
  void stop() {
    stop_reads();
    delays_.stop();
  }
  // The same for gets, heads and lists alone: a broker that stops has nobody left to read for, but
  // records to write.
  void stop_reads() { read_delays_.stop(); }

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override;
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override;
  Task<Result<ObjectInfo>> head(ObjectKey key) override;
  Task<Status> remove(std::vector<ObjectKey> keys) override;
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override;

 private:
  // The state of one call's attempts.
  struct Attempts;

  // True: the call shall be tried again, now. False: `error` is the answer.
  Task<bool> wait_after(Attempts& attempts, Error& error);
  template <typename Answer, typename Call>
  Task<Answer> retry(Attempts& attempts, Call call);
  template <typename Answer, typename Call>
  Task<Answer> retry(TaskGroup& delays, Call call);
  Task<Status> settle_conflict(ObjectKey key, Chain body, Error conflict);

  ObjectStore& inner_;
  Clock& clock_;
  const RetryPolicy policy_;
  std::mutex mutex_;
  Rng rng_;  // under mutex_
  TaskGroup delays_;
  TaskGroup read_delays_;
};

}  // namespace weir::storage

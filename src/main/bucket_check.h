// Compares an object store with the state that refers to it, and reads what lies there: is every
// extent stored whole? `weir fsck` is its door. It reads only, and may run beside brokers: objects
// come and go meanwhile, so what looks wrong is looked at again with the state of then.
//
// One thread. Memory: some hundred bytes for each extent, and a few objects.
#pragma once
#include "main/expected_objects.h"
#include "runtime/task_group.h"
#include "storage/object_store.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir {

struct BucketCounts {
  std::size_t objects = 0;  // that extents lie in
  ByteCount bytes = 0;      // of those
  std::size_t extents = 0;
  std::size_t unneeded = 0;  // the last extent is gone: they go after their grace period
  std::size_t orphans = 0;   // no entry names them: they go after a longer one
  ByteCount orphan_bytes = 0;
  std::size_t damaged = 0;  // objects with something wrong
};

// The state at the end of the log, by now.
using CurrentState = std::function<Task<Result<metadata::State>>()>;
// Told of each object with something wrong, a line each.
using OnDamage = std::function<void(const std::string&)>;

class BucketCheck {
 public:
  // `reads_objects`: false: their sizes are compared and no more.
  BucketCheck(storage::ObjectStore& store, CurrentState current, Executor executor,
              bool reads_objects, OnDamage on_damage)
      : store_(store),
        current_(std::move(current)),
        executor_(std::move(executor)),
        reads_objects_(reads_objects),
        on_damage_(std::move(on_damage)) {}

  // Once. An error: the check could not be made.
  Task<Result<BucketCounts>> run();

 private:
  using Ids = std::vector<metadata::ObjectId>;

  Task<Status> list_objects();
  Task<Result<Ids>> find_suspects(const ExpectedObjects& expected);
  Task<void> take_turns(const ExpectedObjects& expected, Ids& left, Ids& suspects);
  // What is wrong with the object; empty: nothing.
  Task<Result<std::string>> look_at(const ExpectedObjects& expected, metadata::ObjectId id);
  Task<Status> judge(const Ids& suspects, const ExpectedObjects& expected);
  void count(const ExpectedObjects& expected);

  storage::ObjectStore& store_;
  CurrentState current_;
  Executor executor_;
  const bool reads_objects_;
  OnDamage on_damage_;
  std::map<metadata::ObjectId, ByteCount> stored_;  // all that the store lists
  std::optional<Error> failed_;
  BucketCounts counts_;
};

}  // namespace weir

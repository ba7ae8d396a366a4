// Compares an object store with the state that refers to it, and reads what lies there: is every
// extent stored whole? `weir fsck` is its door. It reads only, and may run beside brokers: an
// object that an extent lies in never changes and is never deleted, so what was missing or damaged
// when it was looked at counts if a state that is read later still refers to it.
//
// One thread. Memory: some hundred bytes for each extent, and a few objects.
#pragma once
#include "main/expected_objects.h"
#include "runtime/task_group.h"
#include "storage/object_store.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weir {

struct BucketCounts {
  std::size_t objects = 0;  // that extents lie in
  ByteCount bytes = 0;      // of those
  std::size_t extents = 0;
  std::size_t damaged = 0;     // objects with something wrong
  std::size_t unreadable = 0;  // objects of which the store did not tell
  std::size_t unneeded = 0;    // the last extent is gone: they go after their grace period
  // No entry names them: orphans, which go after a longer grace period, and what is about to be
  // committed.
  std::size_t unnamed = 0;
  ByteCount unnamed_bytes = 0;
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

  // Once. An error: the check could not be made. kConflict: the store has nothing of this state.
  Task<Result<BucketCounts>> run();

 private:
  // What is wrong with an object, and which of its extents cannot be read for it.
  struct Damage {
    std::string what;
    std::vector<PlacedExtent> lost;
    bool is_unreadable = false;  // that, it was not found out
  };

  Task<Status> list_objects();
  [[nodiscard]] Status check_store(const ExpectedObjects& expected) const;
  Task<void> look_at_all(const ExpectedObjects& expected);
  Task<void> take_turns(const ExpectedObjects& expected, std::vector<metadata::ObjectId>& left);
  // Nothing is wrong: an empty Damage.
  Task<Damage> look_at(const ExpectedObjects& expected, metadata::ObjectId id);
  static Damage damage_in(const ExpectedObjects& expected, const metadata::ObjectId& id,
                          const Slice& bytes);
  void judge(const ExpectedObjects& settled);
  void count(const ExpectedObjects& before, const ExpectedObjects& settled);

  storage::ObjectStore& store_;
  CurrentState current_;
  Executor executor_;
  const bool reads_objects_;
  OnDamage on_damage_;
  std::map<metadata::ObjectId, ByteCount> stored_;  // all that the store lists
  std::map<metadata::ObjectId, Damage> damages_;
  BucketCounts counts_;
};

}  // namespace weir

// The objects that the log names: how many extents still lie in each, and which lost their last
// one. The coordinator's thread alone uses it; a copy of objects() for a snapshot costs one
// reference count.
#pragma once
#include "base/units.h"
#include "metadata/state/cow_map.h"
#include "metadata/state/extent.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace weir::metadata {

// An object that no extent names any more.
struct DeletableObject {
  ObjectId id;
  TimestampMs since = 0;  // when it lost its last extent, by the time of the log's entries
  ByteCount size = 0;
};

struct ObjectState {
  std::uint32_t size = 0;
  std::uint32_t live_extents = 0;
  TimestampMs deletable_since = kNoTimestamp;  // -1 while an extent is left
};
static_assert(std::has_unique_object_representations_v<ObjectState>);

class ObjectTable {
 public:
  using Objects = CowMap<ObjectId, ObjectState>;

  [[nodiscard]] const Objects& objects() const { return objects_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  // An object that is not in the table, with the extents that were made of it; deletable at once
  // where there are none.
  void add(const ObjectId& id, std::uint32_t size, std::uint32_t extents, TimestampMs now);
  // One of its extents is gone.
  void release(const ObjectId& id, TimestampMs now);
  // False when the object is still live. An object that is not in the table counts as forgotten.
  bool forget(const ObjectId& id);
  // As a snapshot has it.
  void restore(const ObjectId& id, const ObjectState& state);

  [[nodiscard]] std::size_t deletable_count() const { return deletable_.size(); }
  [[nodiscard]] std::vector<DeletableObject> deletable(TimestampMs until, std::size_t limit) const;

 private:
  void changed(const ObjectId& id, const ObjectState* before, const ObjectState* after);

  Objects objects_;
  std::set<std::pair<TimestampMs, ObjectId>> deletable_;  // since when
  std::uint64_t hash_ = 0;
};

}  // namespace weir::metadata

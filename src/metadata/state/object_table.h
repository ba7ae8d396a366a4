// The objects that the log names: how many extents still lie in each, and which lost their last
// one, told by positions of the log: how long ago that is, is for each broker to measure, since
// brokers' clocks may be wrong. The coordinator's thread alone uses it; a copy of objects() for a
// snapshot costs one reference count.
#pragma once
#include "base/units.h"
#include "metadata/log/metadata_log.h"
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
  Position since = 0;  // of the entry with which it lost its last extent
  ByteCount size = 0;
};

constexpr Position kLive = -1;  // an extent is left

struct ObjectState {
  std::uint32_t size = 0;
  std::uint32_t live_extents = 0;
  Position deletable_since = kLive;
};
static_assert(std::has_unique_object_representations_v<ObjectState>);

class ObjectTable {
 public:
  using Objects = CowMap<ObjectId, ObjectState>;

  [[nodiscard]] const Objects& objects() const { return objects_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  // An object that is not in the table, with the extents that were made of it; deletable at once
  // where there are none.
  void add(const ObjectId& id, std::uint32_t size, std::uint32_t extents, Position at);
  // One of its extents is gone.
  void release(const ObjectId& id, Position at);
  // False when the object is still live. An object that is not in the table counts as forgotten.
  bool forget(const ObjectId& id);
  // As a snapshot has it.
  void restore(const ObjectId& id, const ObjectState& state);

  [[nodiscard]] std::size_t deletable_count() const { return deletable_.size(); }
  [[nodiscard]] std::vector<DeletableObject> deletable(Position until, std::size_t limit) const;

 private:
  void changed(const ObjectId& id, const ObjectState* before, const ObjectState* after);

  Objects objects_;
  std::set<std::pair<Position, ObjectId>> deletable_;  // since when
  std::uint64_t hash_ = 0;
};

}  // namespace weir::metadata

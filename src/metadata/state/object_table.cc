#include "metadata/state/object_table.h"

#include "base/planted.h"
#include "metadata/state/item_hash.h"

namespace weir::metadata {
namespace {

std::uint64_t hash_of(const ObjectId& id, const ObjectState& state) {
  return item_hash(ItemKind::kObject, item_hash(ItemKind::kObject, 0, id), state);
}

}  // namespace

void ObjectTable::changed(const ObjectId& id, const ObjectState* before, const ObjectState* after) {
  if (before != nullptr) hash_ -= hash_of(id, *before);
  if (after != nullptr) hash_ += hash_of(id, *after);
}

void ObjectTable::add(const ObjectId& id, std::uint32_t size, std::uint32_t extents, Position at) {
  if (planted(Bug::kExtentsMiscounted)) ++extents;
  restore(id,
          {.size = size, .live_extents = extents, .deletable_since = extents == 0 ? at : kLive});
}

void ObjectTable::restore(const ObjectId& id, const ObjectState& state) {
  objects_.at_for_write(id) = state;
  if (state.live_extents == 0) deletable_.emplace(state.deletable_since, id);
  changed(id, nullptr, &state);
}

void ObjectTable::release(const ObjectId& id, Position at) {
  ObjectState* state = objects_.find_for_write(id);
  if (state == nullptr || state->live_extents == 0) return;
  ObjectState before = *state;
  const std::uint32_t none = planted(Bug::kReferencedObjectDeleted) ? 1 : 0;
  if (--state->live_extents == none) {
    state->deletable_since = at;
    deletable_.emplace(at, id);
  }
  changed(id, &before, state);
}

bool ObjectTable::forget(const ObjectId& id) {
  const ObjectState* state = objects_.find(id);
  if (state == nullptr) return true;
  if (state->live_extents > 0) return false;
  deletable_.erase({state->deletable_since, id});
  changed(id, state, nullptr);
  objects_.erase(id);
  return true;
}

std::vector<DeletableObject> ObjectTable::deletable(Position until, std::size_t limit) const {
  std::vector<DeletableObject> out;
  for (const auto& [since, id] : deletable_) {
    if (since > until || out.size() >= limit) break;
    out.push_back({id, since, objects_.find(id)->size});
  }
  return out;
}

}  // namespace weir::metadata

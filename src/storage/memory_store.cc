#include "storage/memory_store.h"

#include "storage/object_key.h"

#include <fmt/format.h>

namespace weir::storage {

Result<MemoryStore::Object> MemoryStore::find(const ObjectKey& key) const {
  WEIR_CHECK(check_key(key));
  std::lock_guard lock(mutex_);
  auto at = objects_.find(key);
  if (at == objects_.end()) return fail(ErrorCode::kNotFound, "object " + key);
  return at->second;
}

bool MemoryStore::is_folder_of(const ObjectKey& key) const {
  auto below = objects_.lower_bound(key + "/");
  if (below != objects_.end() && below->first.starts_with(key + "/")) return true;
  for (auto slash = key.find('/'); slash != std::string::npos; slash = key.find('/', slash + 1)) {
    if (objects_.contains(key.substr(0, slash))) return true;
  }
  return false;
}

Task<Status> MemoryStore::put(ObjectKey key, Chain body, PutOptions options) {
  WEIR_CO_CHECK(check_key(key));
  Object object{body.flatten(), clock_.wall_ms()};
  std::lock_guard lock(mutex_);
  if (is_folder_of(key)) {
    co_return fail(
        ErrorCode::kInvalid,
        fmt::format("object key '{}' is the folder of another object, or below one", key));
  }
  if (options.if_absent && objects_.contains(key)) {
    co_return fail(ErrorCode::kConflict, fmt::format("object {} exists", key));
  }
  objects_.insert_or_assign(std::move(key), std::move(object));
  co_return Status{};
}

Task<Result<Slice>> MemoryStore::get(ObjectKey key) {
  WEIR_CO_TRY(Object object, find(key));
  co_return object.body;
}

Task<Result<Slice>> MemoryStore::get_range(ObjectKey key, ByteRange range) {
  WEIR_CO_TRY(Object object, find(key));
  WEIR_CO_CHECK(check_range(key, range, object.body.size()));
  co_return object.body.sub(range.from, range.count);
}

Task<Result<ObjectInfo>> MemoryStore::head(ObjectKey key) {
  WEIR_CO_TRY(Object object, find(key));
  co_return ObjectInfo{std::move(key), object.body.size(), object.modified_ms};
}

Task<Status> MemoryStore::remove(std::vector<ObjectKey> keys) {
  for (const ObjectKey& key : keys) WEIR_CO_CHECK(check_key(key));
  std::lock_guard lock(mutex_);
  for (const ObjectKey& key : keys) objects_.erase(key);
  co_return Status{};
}

Task<Result<ListPage>> MemoryStore::list(std::string prefix, std::string after, std::size_t limit) {
  WEIR_CO_CHECK(check_list(prefix, after, limit));
  std::lock_guard lock(mutex_);
  ListPage page;
  auto at = after < prefix ? objects_.lower_bound(prefix) : objects_.upper_bound(after);
  for (; at != objects_.end() && at->first.starts_with(prefix); ++at) {
    if (page.objects.size() == limit) {
      page.more = true;
      break;
    }
    page.objects.push_back({at->first, at->second.body.size(), at->second.modified_ms});
  }
  co_return page;
}

std::size_t MemoryStore::size() const {
  std::lock_guard lock(mutex_);
  return objects_.size();
}

}  // namespace weir::storage

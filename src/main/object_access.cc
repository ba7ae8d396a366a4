#include "main/object_access.h"

#include "storage/wal_object.h"

namespace weir {
namespace {

storage::ObjectKey key_of(const metadata::Extent& extent) {
  return storage::wal_object_key(extent.object.epoch, extent.object.sequence);
}

}  // namespace

Task<Result<Chain>> CachedObjects::read(metadata::Extent extent) {
  co_return co_await cache_.read(key_of(extent), extent.object_size,
                                 {.from = extent.byte_offset, .count = extent.byte_length});
}

void CachedObjects::forget(const metadata::Extent& extent) { cache_.drop(key_of(extent)); }

}  // namespace weir

#include "main/object_access.h"

#include "storage/wal_object.h"

namespace weir {

Task<Result<Chain>> CachedObjects::read(metadata::Extent extent) {
  co_return co_await cache_.read(
      storage::wal_object_key(extent.object.epoch, extent.object.sequence), extent.object_size,
      {.from = extent.byte_offset, .count = extent.byte_length});
}

}  // namespace weir

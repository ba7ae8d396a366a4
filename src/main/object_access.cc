#include "main/object_access.h"

#include "storage/wal_object.h"

#include <fmt/format.h>

namespace weir {
namespace {

storage::ObjectKey key_of(const metadata::Extent& extent) {
  return storage::wal_object_key(extent.object.epoch, extent.object.sequence);
}

}  // namespace

Status check_writer(const Uuid& cluster, const storage::ObjectKey& key, Bytes object) {
  const auto name = storage::parse_wal_object_key(key);
  const auto footer = storage::parse_wal_footer(object, object.size());
  if (!name || !footer) return {};
  const storage::WalObjectId expected{cluster, name->broker_epoch, name->sequence};
  if (footer->id == expected) return {};
  return fail(ErrorCode::kCorrupt,
              fmt::format("object {} is of cluster {}, broker epoch {}, sequence {}; it should be "
                          "of cluster {}",
                          key, footer->id.cluster.to_string(), footer->id.broker_epoch,
                          footer->id.sequence, cluster.to_string()));
}

Task<Result<Chain>> CachedObjects::read(metadata::Extent extent) {
  co_return co_await cache_.read(key_of(extent), extent.object_size,
                                 {.from = extent.byte_offset, .count = extent.byte_length});
}

void CachedObjects::forget(const metadata::Extent& extent) { cache_.drop(key_of(extent)); }

}  // namespace weir

#include "storage/open_object_store.h"

#include "storage/file_store.h"
#include "storage/memory_store.h"
#include "storage/s3/location.h"
#include "storage/s3/open_s3_store.h"

#include <fmt/format.h>

namespace weir::storage {
namespace {

constexpr std::string_view kFile = "file:";
constexpr std::string_view kMemory = "memory:";

// PATH of file:PATH or file:///PATH; file://HOST/PATH is refused.
Result<std::string> file_path(std::string_view url) {
  std::string_view path = url.substr(kFile.size());
  bool has_authority = path.starts_with("//");
  if (has_authority) path.remove_prefix(2);
  if (!path.empty() && (!has_authority || path.starts_with('/'))) return std::string(path);
  return fail(
      ErrorCode::kInvalid,
      fmt::format("object store URL '{}' names no folder: write file:/a/folder or file:a/folder",
                  url));
}

Error unsupported(std::string_view url) {
  return {
      ErrorCode::kInvalid,
      fmt::format("object store URL '{}' is of no supported kind: there are s3://BUCKET/PREFIX, "
                  "file:PATH and memory:",
                  url)};
}

}  // namespace

Status check_object_store_url(const std::string& url) {
  if (url.starts_with(kFile)) {
    WEIR_CHECK(file_path(url));
  } else if (url.starts_with(s3::kScheme)) {
    WEIR_CHECK(s3::parse_location(url));
  } else if (url != kMemory) {
    return std::unexpected(unsupported(url));
  }
  return {};
}

Result<std::unique_ptr<ObjectStore>> open_object_store(const std::string& url, Clock& clock,
                                                       Executor blocking, StoreAccess access) {
  if (url.starts_with(kFile)) {
    WEIR_TRY(std::string path, file_path(url));
    auto* open = access == StoreAccess::kReadOnly ? &FileStore::open_to_read : &FileStore::open;
    WEIR_TRY(std::unique_ptr<ObjectStore> store, open(path, std::move(blocking)));
    return store;
  }
  if (url.starts_with(s3::kScheme)) {
    WEIR_TRY(std::unique_ptr<ObjectStore> store,
             s3::open_s3_store(url, s3::system_environment(), clock, Rng::from_entropy()));
    return store;
  }
  if (url == kMemory) return std::make_unique<MemoryStore>(clock);
  return std::unexpected(unsupported(url));
}

bool is_volatile_store(std::string_view url) { return url.starts_with(kMemory); }

HedgePolicy hedge_policy(std::string_view url) {
  HedgePolicy policy;
  if (!url.starts_with(s3::kScheme)) policy.budget = 0;
  return policy;
}

}  // namespace weir::storage

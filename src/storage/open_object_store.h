// Opens the object store that `object.store.url` names: s3://BUCKET/PREFIX (storage/s3/location.h),
// file:PATH or memory:. Blocks.
#pragma once
#include "runtime/clock.h"
#include "storage/hedging_store.h"
#include "storage/object_store.h"

#include <memory>
#include <string>
#include <string_view>

namespace weir::storage {

// A read-only store must be there, and stays as it is.
enum class StoreAccess { kReadWrite, kReadOnly };

// `blocking` has threads for calls that block; it and the clock outlive the store. kInvalid names
// the kinds that exist.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_object_store(
    const std::string& url, Clock& clock, Executor blocking,
    StoreAccess access = StoreAccess::kReadWrite);

// Whether open_object_store() understands the URL; nothing is opened.
[[nodiscard]] Status check_object_store_url(const std::string& url);

// True when what is stored there ends with the process.
[[nodiscard]] bool is_volatile_store(std::string_view url);

// Whether puts and gets there are worth a second request: not where a disk would do the same work
// twice.
[[nodiscard]] HedgePolicy hedge_policy(std::string_view url);

}  // namespace weir::storage

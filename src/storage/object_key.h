// Checks of what callers pass to an ObjectStore, shared by every kind of store. Pure functions.
#pragma once
#include "base/error.h"
#include "storage/object_store.h"

#include <string_view>

namespace weir::storage {

// kInvalid, naming the key and the broken rule, unless it is an ObjectKey.
[[nodiscard]] Status check_key(std::string_view key);
// The same for list(): prefix and after may be empty or end anywhere.
[[nodiscard]] Status check_list(std::string_view prefix, std::string_view after, std::size_t limit);
// kInvalid unless the range lies within an object of `size` bytes.
[[nodiscard]] Status check_range(std::string_view key, ByteRange range, ByteCount size);

[[nodiscard]] bool is_key_part(std::string_view part);

}  // namespace weir::storage

// The marker of an object store: the object `cluster`, which names the cluster whose store it is.
// docs/formats/store-marker.md has the bytes; metadata/store_claim.h says who writes it. Pure.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "base/uuid.h"

#include <string_view>

namespace weir::metadata {

constexpr std::string_view kStoreMarkerKey = "cluster";

[[nodiscard]] Slice encode_store_marker(const Uuid& cluster);
// Errors: kCorrupt; kInvalid for one that a newer Weir wrote.
[[nodiscard]] Result<Uuid> decode_store_marker(Bytes bytes);

}  // namespace weir::metadata

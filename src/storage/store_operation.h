// The calls of an ObjectStore by name, for decorators that count, fail or log them.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace weir::storage {

enum class StoreOperation : std::uint8_t { kPut, kGet, kGetRange, kHead, kRemove, kList };

constexpr std::array kStoreOperations = {StoreOperation::kPut,      StoreOperation::kGet,
                                         StoreOperation::kGetRange, StoreOperation::kHead,
                                         StoreOperation::kRemove,   StoreOperation::kList};

// "put", "get", "get_range", …
[[nodiscard]] std::string_view to_string(StoreOperation operation);

}  // namespace weir::storage

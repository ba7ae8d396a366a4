// The strong types that sample.schema uses.
#pragma once
#include <cstdint>

namespace weir::kafka::sample {

enum class Color : std::int8_t { kRed = 1, kGreen = 2 };
enum class ObjectId : std::int64_t {};

}  // namespace weir::kafka::sample

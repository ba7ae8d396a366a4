// CRC-32C (Castagnoli), as Kafka's record batches, the object formats and S3 use it.
#pragma once
#include <cstdint>

#include "base/bytes.h"

namespace weir {

// The CRC of `bytes`, or of an earlier run followed by `bytes` when `seed` is that run's CRC.
[[nodiscard]] std::uint32_t crc32c(Bytes bytes, std::uint32_t seed = 0);

}  // namespace weir

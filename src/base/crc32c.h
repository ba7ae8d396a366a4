// CRC-32C (Castagnoli), as Kafka's record batches, the object formats and S3 use it.
#pragma once
#include "base/bytes.h"

#include <cstdint>

namespace weir {

// The CRC of `bytes`, or of an earlier run followed by `bytes` when `seed` is that run's CRC.
[[nodiscard]] std::uint32_t crc32c(Bytes bytes, std::uint32_t seed = 0);

// The bare remainder of `bytes`: no inversion on entry and exit. It is linear: raw(a) ^ raw(b) ==
// raw(a ^ b) for equal lengths.
[[nodiscard]] std::uint32_t crc32c_raw(Bytes bytes);

// The bare remainder after `zero_bytes` more bytes of zero, in O(log zero_bytes).
[[nodiscard]] std::uint32_t crc32c_shift(std::uint32_t raw, std::uint64_t zero_bytes);

}  // namespace weir

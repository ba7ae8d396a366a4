// SHA-256 (FIPS 180-4): names and checks content that others may have had a hand in; and HMAC with
// it (RFC 2104), which proves the knowledge of a key.
#pragma once
#include "base/bytes.h"

#include <array>
#include <string>

namespace weir {

using Sha256 = std::array<std::byte, 32>;

[[nodiscard]] Sha256 sha256(Bytes bytes);
[[nodiscard]] Sha256 sha256(const Chain& chain);
[[nodiscard]] Sha256 hmac_sha256(Bytes key, Bytes message);
// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string to_hex(const Sha256& digest);

}  // namespace weir

// Checksums as S3's headers have them. Pure functions.
#pragma once
#include "base/bytes.h"

#include <string>
#include <string_view>

namespace weir::storage::s3 {

// CRC-32C, big-endian, in base64.
[[nodiscard]] std::string checksum_text(const Chain& body);
// For the Content-MD5 header.
[[nodiscard]] std::string md5_text(const Chain& body);

// False: `told`, the value of a checksum header, says that these are not the bytes of the object. A
// header may name several checksums, none, or that of an object's parts ("...-3"), which says
// nothing about the bytes.
[[nodiscard]] bool checksum_fits(std::string_view told, std::string_view prefix, Bytes body);

}  // namespace weir::storage::s3

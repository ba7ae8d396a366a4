#include "base/sha256.h"

#include <openssl/sha.h>

namespace weir {

Sha256 sha256(Bytes bytes) {
  Sha256 digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

std::string to_hex(const Sha256& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * digest.size());
  for (const std::byte byte : digest) {
    out += kDigits[std::to_integer<std::size_t>(byte) >> 4];
    out += kDigits[std::to_integer<std::size_t>(byte) & 15];
  }
  return out;
}

}  // namespace weir

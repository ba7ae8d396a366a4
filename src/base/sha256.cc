#include "base/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <memory>

namespace weir {
namespace {

unsigned char* raw(Sha256& digest) { return reinterpret_cast<unsigned char*>(digest.data()); }

}  // namespace

Sha256 sha256(Bytes bytes) {
  Sha256 digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), raw(digest));
  return digest;
}

Sha256 sha256(const Chain& chain) {
  Sha256 digest;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  for (const Slice& slice : chain.slices()) {
    EVP_DigestUpdate(context.get(), slice.data(), slice.size());
  }
  EVP_DigestFinal_ex(context.get(), raw(digest), nullptr);
  return digest;
}

Sha256 hmac_sha256(Bytes key, Bytes message) {
  Sha256 digest;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), raw(digest),
       nullptr);
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

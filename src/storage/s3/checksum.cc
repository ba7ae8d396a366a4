#include "storage/s3/checksum.h"

#include "base/base64.h"
#include "base/crc32c.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

namespace weir::storage::s3 {
namespace {

std::string crc_text(std::uint32_t crc) {
  std::array<std::byte, 4> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(crc >> (24 - 8 * i));
  return to_base64(bytes);
}

}  // namespace

std::string checksum_text(const Chain& body) {
  std::uint32_t crc = 0;
  for (const Slice& slice : body.slices()) crc = crc32c(slice.bytes(), crc);
  return crc_text(crc);
}

std::string md5_text(const Chain& body) {
  std::array<std::byte, 16> digest{};
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_md5(), nullptr);
  for (const Slice& slice : body.slices()) {
    EVP_DigestUpdate(context.get(), slice.data(), slice.size());
  }
  EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return to_base64(digest);
}

bool checksum_fits(std::string_view told, std::string_view prefix, Bytes body) {
  constexpr std::size_t kLength = 8;  // of four bytes in base64
  while (!told.empty()) {
    std::size_t end = std::min(told.find(','), told.size());
    std::string_view one = told.substr(0, end);
    told.remove_prefix(std::min(end + 1, told.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (!one.starts_with(prefix)) continue;
    one.remove_prefix(prefix.size());
    if (one.size() == kLength) return one == crc_text(crc32c(body));
  }
  return true;
}

}  // namespace weir::storage::s3

#include "base/base64.h"

#include <openssl/evp.h>

namespace weir {

std::string to_base64(Bytes bytes) {
  // EVP_EncodeBlock writes a zero byte behind the text.
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                               reinterpret_cast<const unsigned char*>(bytes.data()),
                               static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

}  // namespace weir

// Base64 with the standard alphabet and padding (RFC 4648, section 4).
#pragma once
#include "base/bytes.h"

#include <string>

namespace weir {

[[nodiscard]] std::string to_base64(Bytes bytes);

}  // namespace weir

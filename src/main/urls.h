// The URL of a log or a store as messages name it: without passwords, and with the folder that a
// relative path begins in, since the same one means another place elsewhere.
#pragma once
#include <string>

namespace weir {

[[nodiscard]] std::string shown_url(const std::string& url);

}  // namespace weir

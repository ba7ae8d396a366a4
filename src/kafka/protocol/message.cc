#include "kafka/protocol/message.h"

#include <fmt/format.h>

namespace weir::kafka {

Status check_version(std::string_view name, std::int16_t version, std::int16_t min,
                     std::int16_t max) {
  if (version >= min && version <= max) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("{} has versions {} to {}, not {}", name, min, max, version));
}

Status check_size(std::string_view name, std::int16_t version, const SizeCounter& size) {
  if (size.longest_misfit() > 0) {
    return fail(ErrorCode::kInvalid,
                fmt::format("{} v{}: a field of {} bytes is longer than its length can say", name,
                            version, size.longest_misfit()));
  }
  // A frame's size is a signed 32-bit number that counts the header too.
  constexpr std::size_t kMaxSize = std::numeric_limits<std::int32_t>::max() - 1024;
  if (size.total() > kMaxSize) {
    return fail(ErrorCode::kInvalid, fmt::format("{} v{}: {} bytes are more than a frame can hold",
                                                 name, version, size.total()));
  }
  return {};
}

}  // namespace weir::kafka

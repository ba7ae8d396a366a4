#include "groups/subscription.h"

#include "base/byte_reader.h"

namespace weir::groups {

std::optional<std::vector<std::string>> subscribed_topics_of(Bytes metadata) {
  ByteReader in(metadata);
  std::int16_t version = in.i16();
  std::int32_t count = in.i32();
  // Each topic takes two bytes at least.
  if (!in.ok() || version < 0 || count < 0 || static_cast<std::size_t>(count) > in.remaining() / 2)
    return std::nullopt;
  std::vector<std::string> topics;
  for (std::int32_t i = 0; i < count; ++i) {
    std::int16_t length = in.i16();
    if (length < 0) return std::nullopt;
    topics.emplace_back(in.text(static_cast<std::size_t>(length)));
  }
  if (!in.ok()) return std::nullopt;
  return topics;
}

}  // namespace weir::groups

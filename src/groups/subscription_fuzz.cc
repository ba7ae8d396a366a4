// Any bytes as the metadata of a member of a group: nothing, or topics that lie in it one after the
// other.
#include "base/byte_writer.h"
#include "base/fuzz.h"
#include "groups/subscription.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  Bytes metadata = fuzz::input(data, size);
  auto topics = groups::subscribed_topics_of(metadata);
  if (!topics) return 0;
  ByteWriter out;
  out.bytes(metadata.first(2));
  out.i32(static_cast<std::int32_t>(topics->size()));
  for (const std::string& topic : *topics) {
    out.i16(static_cast<std::int16_t>(topic.size()));
    out.text(topic);
  }
  fuzz::require(out.size() <= size && as_text(out.view()) == as_text(metadata.first(out.size())));
  return 0;
}

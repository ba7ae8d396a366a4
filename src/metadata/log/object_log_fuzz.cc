// Any bytes: the decoder answers an error or a group whose entries lie within the object and encode
// to the same bytes.
#include "base/big_endian.h"
#include "base/crc32c.h"
#include "base/fuzz.h"
#include "metadata/log/object_log_format.h"

#include <vector>

namespace {

using namespace weir;
using namespace weir::metadata;
using fuzz::require;

constexpr Position kFirst = 5;

void check(Bytes bytes) {
  const Slice object = Slice::copy_of(bytes);
  auto group = object_log::decode_group(object, kFirst);
  if (!group) return;
  std::vector<Slice> entries;
  for (const LogEntry& entry : group->entries) {
    require(entry.position == kFirst + static_cast<Position>(entries.size()));
    entries.push_back(entry.bytes);
  }
  const Slice again = object_log::encode_group(group->writer, kFirst, entries).flatten();
  require(as_text(again.bytes()) == as_text(object.bytes()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = fuzz::input(data, size);
  check(bytes);
  if (size < sizeof(std::uint32_t)) return 0;
  // The same with the right checksum, so that what lies behind it is reached.
  std::vector<std::byte> fixed(bytes.begin(), bytes.end());
  const std::size_t end = size - sizeof(std::uint32_t);
  store_big_endian(fixed.data() + end, crc32c(bytes.first(end)));
  check(fixed);
  (void)object_log::number_of(object_log::kEntries, as_text(bytes));
  return 0;
}

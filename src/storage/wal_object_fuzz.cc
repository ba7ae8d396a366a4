// Any bytes: the parser and the printer answer an error or describe an object within its bounds; a
// text is a key only if the same key is made of what it says.
#include "base/big_endian.h"
#include "base/crc32c.h"
#include "base/fuzz.h"
#include "storage/wal_layout.h"
#include "storage/wal_object.h"
#include "storage/wal_object_dump.h"

namespace {

using namespace weir;
using namespace weir::storage;
using fuzz::require;

void check(Bytes object) {
  auto contents = parse_wal_object(object);
  auto text = dump_wal_object(object, DumpFormat::kText);
  auto json = dump_wal_object(object, DumpFormat::kJson);
  require(text.has_value() == contents.has_value() && json.has_value() == contents.has_value());
  if (!contents) return;
  ByteCount end = 0;
  for (const WalRun& run : contents->index.runs) {
    require(run.byte_offset == end && run.batch_count > 0);
    for (const WalBatchInfo& batch : contents->index.batches_of(run)) end += batch.length;
    require(end == std::uint64_t{run.byte_offset} + run.byte_length && end <= object.size());
  }
  require(end + contents->footer.index_length + kWalFooterSize == object.size());
}

// The same bytes with CRCs that fit, so that what lies behind the checks is reached.
std::vector<std::byte> with_right_crcs(Bytes object) {
  constexpr std::size_t kIndexLength = 32;
  constexpr std::size_t kIndexCrc = 36;
  std::vector<std::byte> out(object.begin(), object.end());
  Bytes before = object.first(object.size() - kWalFooterSize);
  std::byte* footer = out.data() + before.size();
  auto index_length = load_big_endian<std::uint32_t>(footer + kIndexLength);
  if (index_length <= before.size()) {
    store_big_endian(footer + kIndexCrc, crc32c(before.last(index_length)));
  }
  store_big_endian(footer + wal_layout::kFooterCrc, crc32c(Bytes(footer, wal_layout::kFooterCrc)));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes object = fuzz::input(data, size);
  check(object);
  if (auto name = parse_wal_object_key(as_text(object)))
    require(wal_object_key(name->broker_epoch, name->sequence) == as_text(object));
  if (size >= kWalFooterSize) check(with_right_crcs(object));
  return 0;
}

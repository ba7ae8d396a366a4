// Walks any bytes as records, in chunks of the size that the first byte says, and reads them as
// views: both must see the same.
#include "base/fuzz.h"
#include "kafka/records/record.h"
#include "kafka/records/record_walker.h"

#include <cstdint>

namespace weir::kafka {
namespace {

using fuzz::require;

class Chopped final : public ChunkSource {
 public:
  Chopped(Bytes bytes, std::size_t chunk) : rest_(bytes), chunk_(chunk) {}
  Result<Bytes> next() override {
    Bytes out = rest_.first(std::min(chunk_, rest_.size()));
    rest_ = rest_.subspan(out.size());
    return out;
  }

 private:
  Bytes rest_;
  std::size_t chunk_;
};

}  // namespace
}  // namespace weir::kafka

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  using namespace weir::kafka;
  if (size == 0) return 0;
  Bytes bytes = fuzz::input(data + 1, size - 1);
  Chopped source(bytes, data[0] + std::size_t{1});
  RecordWalker walker(source);
  RecordReader reader(bytes);
  RecordInfo info;
  ByteWriter written;
  while (auto view = reader.next()) {
    require(walker.next(info));
    require(info.timestamp_delta == view->timestamp_delta);
    require(info.offset_delta == view->offset_delta);
    require(info.has_key == view->key.has_value());
    require(info.has_value == view->value.has_value());
    std::size_t headers = 0;
    view->headers.for_each([&](const RecordHeader& header) { headers += header.key.size(); });
    require(headers <= bytes.size());
    write_record(written, *view);
  }
  require(!walker.next(info));
  require(walker.status().has_value() == reader.status().has_value());
  if (reader.status()) {
    // Written again the records can only have become shorter: varints lose their padding.
    require(walker.at_end() && written.size() <= bytes.size());
  }
  return 0;
}

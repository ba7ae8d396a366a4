// Any bytes as extents, producers or objects, whichever the first byte says: what can be read is
// the same when it is written again.
#include "base/fuzz.h"
#include "metadata/state/extent_codec.h"

#include <vector>

namespace {

using namespace weir;
using namespace weir::metadata;
using fuzz::require;

struct Extents {
  using Item = Extent;
  struct Reader {
    explicit Reader(ByteReader& in) : decoder(in) {}
    Extent read() { return decoder.read(); }
    ExtentDecoder decoder;
  };
  struct Writer {
    explicit Writer(ByteWriter& out) : encoder(out) {}
    void write(const Extent& extent) { encoder.write(extent); }
    ExtentEncoder encoder;
  };
};

struct Producers {
  using Item = ProducerState;
  struct Reader {
    ByteReader& in;
    ProducerState read() { return read_producer(in); }
  };
  struct Writer {
    ByteWriter& out;
    void write(const ProducerState& producer) { metadata::write(out, producer); }
  };
};

struct Objects {
  using Item = ObjectState;
  struct Reader {
    ByteReader& in;
    ObjectState read() { return read_object(in); }
  };
  struct Writer {
    ByteWriter& out;
    void write(const ObjectState& object) { metadata::write(out, object); }
  };
};

template <typename Kind>
std::vector<typename Kind::Item> read_all(Bytes bytes) {
  ByteReader in(bytes);
  typename Kind::Reader reader{in};
  std::vector<typename Kind::Item> items;
  while (in.remaining() > 0) {
    auto item = reader.read();
    if (!in.ok()) break;
    items.push_back(item);
  }
  return items;
}

template <typename Kind>
void check(Bytes bytes) {
  auto items = read_all<Kind>(bytes);
  ByteWriter out;
  typename Kind::Writer writer{out};
  for (const auto& item : items) writer.write(item);
  // Varints lose their padding.
  require(out.size() <= bytes.size());
  auto again = read_all<Kind>(out.view());
  require(std::ranges::equal(items, again, [](const auto& a, const auto& b) {
    return as_text(std::as_bytes(std::span(&a, 1))) == as_text(std::as_bytes(std::span(&b, 1)));
  }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Bytes bytes = fuzz::input(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      check<Extents>(bytes);
      break;
    case 1:
      check<Producers>(bytes);
      break;
    default:
      check<Objects>(bytes);
  }
  return 0;
}

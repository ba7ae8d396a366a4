// Decompresses any bytes; the first one chooses the codec. Nothing beyond the limit may come out,
// and what comes out whole is the same when it is compressed and decompressed again.
#include "base/fuzz.h"
#include "kafka/records/compression.h"

namespace {

using namespace weir;
using namespace weir::kafka;
using fuzz::require;

constexpr ByteCount kLimit = 1_MiB;
// More is slow to compress.
constexpr std::size_t kAgain = 64 * 1024;

void check_again(Codec codec, Bytes plain) {
  ByteWriter out;
  auto compressor = make_compressor({.codec = codec, .level = {}}, out, kLimit);
  require(compressor->write(plain.first(plain.size() / 2)).has_value());
  require(compressor->write(plain.subspan(plain.size() / 2)).has_value());
  require(compressor->finish().has_value());
  auto again = decompress(codec, out.to_slice(), kLimit);
  require(again && as_text(again->bytes()) == as_text(plain));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  auto codec = static_cast<Codec>(1 + data[0] % (kCodecCount - 1));
  Bytes compressed = fuzz::input(data + 1, size - 1);
  auto source = make_decompressor(codec, compressed, kLimit);
  ByteWriter plain;
  Result<Bytes> chunk = source->next();
  for (; chunk && !chunk->empty(); chunk = source->next()) {
    plain.bytes(*chunk);
    require(plain.size() <= kLimit);
  }
  auto whole = decompress(codec, Slice::copy_of(compressed), kLimit);
  require(whole.has_value() == chunk.has_value());
  if (!whole) return 0;
  require(as_text(whole->bytes()) == as_text(plain.view()));
  if (plain.size() <= kAgain) check_again(codec, plain.view());
  return 0;
}

// Decompresses any bytes; the first one chooses the codec. Nothing beyond the limit may come out.
#include "kafka/records/compression.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  using namespace weir::kafka;
  constexpr ByteCount kLimit = 1_MiB;
  if (size == 0) return 0;
  auto codec = static_cast<Codec>(1 + data[0] % (kCodecCount - 1));
  auto source = make_decompressor(codec, std::as_bytes(std::span(data + 1, size - 1)), kLimit);
  ByteCount total = 0;
  while (true) {
    Result<Bytes> chunk = source->next();
    if (!chunk || chunk->empty()) break;
    total += chunk->size();
    if (total > kLimit) std::abort();
  }
  return 0;
}

// Any bytes: the decoder answers an error or a manifest that is within its rules and encodes to the
// same bytes.
#include "base/big_endian.h"
#include "base/crc32c.h"
#include "base/fuzz.h"
#include "metadata/snapshot_manifest.h"

#include <algorithm>
#include <set>
#include <vector>

namespace {

using namespace weir;
using namespace weir::metadata;
using fuzz::require;

constexpr std::size_t kTrailer = 16;

void check(Bytes bytes) {
  auto manifest = decode_manifest(bytes);
  if (!manifest) return;
  std::set<std::string> names;
  for (const SnapshotChunk& chunk : manifest->chunks) {
    require(names.insert(chunk.name).second && chunk.written_at <= manifest->position);
    auto key = parse_snapshot_key(chunk_key(chunk));
    require(key && !key->is_manifest && key->position == chunk.written_at);
  }
  auto again = decode_manifest(encode_manifest(*manifest).bytes());
  require(again && again->position == manifest->position &&
          again->chunks.size() == manifest->chunks.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = fuzz::input(data, size);
  check(bytes);
  if (size < kTrailer) return 0;
  // The same with the right kind, version and checksum, so that what lies behind them is reached.
  std::vector<std::byte> fixed(bytes.begin(), bytes.end());
  std::byte* trailer = fixed.data() + size - kTrailer;
  const auto head = as_bytes(std::string_view("\x03\x01\0\0", 4));
  std::ranges::copy(head, trailer);
  store_big_endian(trailer + 4, crc32c(bytes.first(size - kTrailer)));
  std::ranges::copy(as_bytes("WEIR-OBJ"), trailer + 8);
  check(fixed);
  (void)parse_snapshot_key(as_text(bytes));
  return 0;
}

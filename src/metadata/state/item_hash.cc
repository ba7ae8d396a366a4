#include "metadata/state/item_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir::metadata {

std::uint64_t item_hash(ItemKind kind, std::uint64_t owner, Bytes content) {
  std::uint64_t seed = owner ^ (static_cast<std::uint64_t>(kind) * 0x9E3779B97F4A7C15ULL);
  return XXH3_64bits_withSeed(content.data(), content.size(), seed);
}

}  // namespace weir::metadata

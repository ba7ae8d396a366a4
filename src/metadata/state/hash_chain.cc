#include "metadata/state/hash_chain.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir::metadata {
namespace {

std::size_t slot(Position position) {
  return static_cast<std::size_t>(position) % HashChain::kWindow;
}

}  // namespace

HashChain::HashChain(Position position, std::uint64_t hash)
    : position_(position), hash_(hash), window_(kWindow) {
  window_[slot(position)] = hash;
}

std::uint64_t HashChain::extend(std::uint64_t before, Bytes entry) {
  return XXH3_64bits_withSeed(entry.data(), entry.size(), before);
}

void HashChain::add(Bytes entry) {
  hash_ = extend(hash_, entry);
  ++position_;
  window_[slot(position_)] = hash_;
  if (kept_ < kWindow) ++kept_;
}

std::optional<std::uint64_t> HashChain::at(Position position) const {
  if (position > position_ || position_ - position >= static_cast<Position>(kept_))
    return std::nullopt;
  return window_[slot(position)];
}

}  // namespace weir::metadata

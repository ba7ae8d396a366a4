#include "metadata/state/hash_chain.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir::metadata {
HashChain::HashChain(Position position, std::uint64_t hash)
    : position_(position), hash_(hash), window_{hash} {}

std::uint64_t HashChain::extend(std::uint64_t before, Bytes entry) {
  return XXH3_64bits_withSeed(entry.data(), entry.size(), before);
}

void HashChain::add(Bytes entry) {
  hash_ = extend(hash_, entry);
  ++position_;
  last_ = (last_ + 1) % kWindow;
  if (last_ == window_.size()) window_.push_back(0);
  window_[last_] = hash_;
}

std::optional<std::uint64_t> HashChain::at(Position position) const {
  if (position > position_ || position_ - position >= static_cast<Position>(window_.size())) {
    return std::nullopt;
  }
  auto back = static_cast<std::size_t>(position_ - position);
  return window_[(last_ + kWindow - back) % kWindow];
}

}  // namespace weir::metadata

#include "cache/cached_object.h"

#include <algorithm>

namespace weir::cache {

CachedObject::CachedObject(storage::ObjectKey key, Chain body)
    : key_(std::move(key)),
      body_(std::move(body)),
      charge_(charge_of(key_, body_.size(), body_.slices().size())) {
  begins_.reserve(body_.slices().size());
  std::uint64_t at = 0;
  for (const Slice& slice : body_.slices()) {
    begins_.push_back(at);
    at += slice.size();
  }
}

ByteCount CachedObject::charge_of(const storage::ObjectKey& key, ByteCount size,
                                  std::size_t slices) {
  // The maps and lists that hold the entry, roughly.
  constexpr ByteCount kPerEntry = 256;
  return size + slices * (sizeof(Slice) + sizeof(std::uint64_t)) + sizeof(CachedObject) +
         2 * key.size() + kPerEntry;
}

Chain CachedObject::slice(storage::ByteRange range) const {
  Chain out;
  if (range.count == 0) return out;
  // The last slice that begins at or before the range.
  auto above = std::ranges::upper_bound(begins_, range.from);
  auto index = static_cast<std::size_t>(above - begins_.begin()) - 1;
  std::uint64_t skip = range.from - begins_[index];
  for (std::uint64_t left = range.count; left > 0; ++index) {
    const Slice& slice = body_.slices()[index];
    std::uint64_t count = std::min<std::uint64_t>(left, slice.size() - skip);
    out.append(slice.sub(skip, count));
    left -= count;
    skip = 0;
  }
  return out;
}

}  // namespace weir::cache

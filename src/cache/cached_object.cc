#include "cache/cached_object.h"

#include <algorithm>
#include <unordered_map>

namespace weir::cache {

class CachedObject::Block {
 public:
  Block(std::shared_ptr<const void> memory, std::shared_ptr<LingeringBytes> lingering)
      : memory_(std::move(memory)), lingering_(std::move(lingering)) {}
  ~Block() {
    if (lingers_) *lingering_ -= bytes;
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void linger() {
    if (!lingers_.exchange(true)) *lingering_ += bytes;
  }

  ByteCount bytes = 0;  // of the object that lie in it

 private:
  const std::shared_ptr<const void> memory_;
  const std::shared_ptr<LingeringBytes> lingering_;
  std::atomic<bool> lingers_ = false;
};

CachedObject::CachedObject(storage::ObjectKey key, Chain body,
                           std::shared_ptr<LingeringBytes> lingering)
    : key_(std::move(key)), charge_(charge_of(key_, body.size(), body.slices().size())) {
  std::unordered_map<const void*, std::shared_ptr<Block>> blocks;
  for (const Slice& slice : body.slices()) {
    std::shared_ptr<Block>& block = blocks[slice.owner().get()];
    if (!block) {
      block = std::make_shared<Block>(slice.owner(), lingering);
      blocks_.push_back(block);
    }
    block->bytes += slice.size();
    body_.append(Slice(block, slice.bytes()));
  }
  begins_.reserve(body_.slices().size());
  std::uint64_t at = 0;
  for (const Slice& slice : body_.slices()) {
    begins_.push_back(at);
    at += slice.size();
  }
}

void CachedObject::let_go() const {
  for (const auto& block : blocks_) block->linger();
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

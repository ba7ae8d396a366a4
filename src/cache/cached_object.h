// One object in the cache: its bytes, as the slices they came in, and how often it was used. Shared
// between the cache and reads that run; the bytes are immutable, the use counts are touched by any
// thread.
//
// A reader of one batch keeps the block of memory that it lies in: all of an object that was read
// from the store, or a request that an own object was made of. What blocks take after their object
// has left the cache is counted.
#pragma once
#include "base/bytes.h"
#include "base/units.h"
#include "storage/object_store.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace weir::cache {

// Bytes of blocks that only readers hold. Shared with the blocks, which may outlive the cache.
using LingeringBytes = std::atomic<ByteCount>;

class CachedObject {
 public:
  CachedObject(storage::ObjectKey key, Chain body,
               std::shared_ptr<LingeringBytes> lingering = std::make_shared<LingeringBytes>(0));

  [[nodiscard]] const storage::ObjectKey& key() const { return key_; }
  [[nodiscard]] ByteCount size() const { return body_.size(); }
  // Memory it stands for, with its own overhead.
  [[nodiscard]] ByteCount charge() const { return charge_; }
  // It leaves the cache.
  void let_go() const;
  // The bytes of a range that lies within, without a copy: the slices it touches, the first and
  // last cut where need be.
  [[nodiscard]] Chain slice(storage::ByteRange range) const;

  // What the memory of an object in `slices` slices is counted as.
  [[nodiscard]] static ByteCount charge_of(const storage::ObjectKey& key, ByteCount size,
                                           std::size_t slices);

 private:
  class Block;

  storage::ObjectKey key_;
  std::vector<std::shared_ptr<Block>> blocks_;
  Chain body_;                         // in the blocks
  std::vector<std::uint64_t> begins_;  // of each slice
  ByteCount charge_;
};

}  // namespace weir::cache

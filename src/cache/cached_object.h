// One object in the cache: its bytes, as the slices they came in, and how often it was used. Shared
// between the cache and reads that run; the bytes are immutable, the use counts are touched by any
// thread.
#pragma once
#include "base/bytes.h"
#include "base/units.h"
#include "storage/object_store.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace weir::cache {

class CachedObject {
 public:
  CachedObject(storage::ObjectKey key, Chain body);

  [[nodiscard]] const storage::ObjectKey& key() const { return key_; }
  [[nodiscard]] ByteCount size() const { return body_.size(); }
  // Memory it stands for, with its own overhead.
  [[nodiscard]] ByteCount charge() const { return charge_; }
  // The bytes of a range that lies within, without a copy: the slices it touches, the first and
  // last cut where need be.
  [[nodiscard]] Chain slice(storage::ByteRange range) const;

  // What the memory of an object in `slices` slices is counted as.
  [[nodiscard]] static ByteCount charge_of(const storage::ObjectKey& key, ByteCount size,
                                           std::size_t slices);

 private:
  storage::ObjectKey key_;
  Chain body_;
  std::vector<std::uint64_t> begins_;  // of each slice
  ByteCount charge_;
};

}  // namespace weir::cache

// Reads stored bytes for fetches: the object cache behind one call. Wired in by main, faked in
// tests. Thread-safe.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "metadata/state/extent.h"
#include "runtime/task.h"

namespace weir::fetch {

class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  // The bytes of an extent. No batch is split between two slices of the chain.
  virtual Task<Result<Chain>> read(metadata::Extent extent) = 0;
  // What read() gave for this extent is damaged: later reads are not to be given the same memory.
  virtual void forget(const metadata::Extent& extent) = 0;
};

}  // namespace weir::fetch

// A run of bytes that arrives in chunks: what decompression gives and what the record walker reads.
// One thread at a time.
#pragma once
#include "base/bytes.h"
#include "base/error.h"

#include <utility>

namespace weir::kafka {

class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  // The next chunk, valid until the next call; empty at the end. After an error there are no more
  // chunks.
  virtual Result<Bytes> next() = 0;
};

// Bytes that are there already, as one chunk.
class ContiguousSource final : public ChunkSource {
 public:
  explicit ContiguousSource(Bytes bytes) : bytes_(bytes) {}
  Result<Bytes> next() override { return std::exchange(bytes_, {}); }

 private:
  Bytes bytes_;
};

}  // namespace weir::kafka

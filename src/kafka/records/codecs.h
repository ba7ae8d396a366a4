// Inside compression: one pair of factories for each codec, see compression.h.
#pragma once
#include "kafka/records/compression.h"

#include <memory>

namespace weir::kafka::codecs {

constexpr std::size_t kChunkSize = 64 * 1024;

// Counts what came out against the limit of a decompressor.
class OutputLimit {
 public:
  explicit OutputLimit(ByteCount max_bytes) : left_(max_bytes) {}
  [[nodiscard]] ByteCount left() const { return left_; }
  // kExhausted when `bytes` more are too many.
  Status take(std::size_t bytes);

 private:
  ByteCount left_;
};

// Appends to a ByteWriter up to a size.
class BoundedOutput {
 public:
  BoundedOutput(ByteWriter& out, std::size_t max_size) : out_(out), max_size_(max_size) {}
  Status append(Bytes bytes);

 private:
  ByteWriter& out_;
  const std::size_t max_size_;
};

std::unique_ptr<ChunkSource> gzip_decompressor(Bytes compressed, ByteCount max_bytes);
std::unique_ptr<ChunkSource> snappy_decompressor(Bytes compressed, ByteCount max_bytes);
std::unique_ptr<ChunkSource> lz4_decompressor(Bytes compressed, ByteCount max_bytes);
std::unique_ptr<ChunkSource> zstd_decompressor(Bytes compressed, ByteCount max_bytes);

std::unique_ptr<Compressor> gzip_compressor(std::optional<int> level, BoundedOutput out);
std::unique_ptr<Compressor> snappy_compressor(BoundedOutput out);
std::unique_ptr<Compressor> lz4_compressor(std::optional<int> level, BoundedOutput out);
std::unique_ptr<Compressor> zstd_compressor(std::optional<int> level, BoundedOutput out);

}  // namespace weir::kafka::codecs

#include "kafka/records/compression.h"

#include "kafka/records/codecs.h"

#include <fmt/format.h>

namespace weir::kafka {
namespace codecs {

Status OutputLimit::take(std::size_t bytes) {
  if (bytes > left_) {
    return fail(ErrorCode::kExhausted, "the records are larger than the limit when decompressed");
  }
  left_ -= bytes;
  return {};
}

Status BoundedOutput::append(Bytes bytes) {
  if (out_.size() > max_size_ || bytes.size() > max_size_ - out_.size()) {
    return fail(ErrorCode::kExhausted, fmt::format("the batch is larger than {} bytes", max_size_));
  }
  out_.bytes(bytes);
  return {};
}

}  // namespace codecs

namespace {

class PlainCompressor final : public Compressor {
 public:
  explicit PlainCompressor(codecs::BoundedOutput out) : out_(out) {}
  Status write(Bytes bytes) override { return out_.append(bytes); }
  Status finish() override { return {}; }

 private:
  codecs::BoundedOutput out_;
};

}  // namespace

std::unique_ptr<ChunkSource> make_decompressor(Codec codec, Bytes compressed, ByteCount max_bytes) {
  switch (codec) {
    case Codec::kNone:
      break;
    case Codec::kGzip:
      return codecs::gzip_decompressor(compressed, max_bytes);
    case Codec::kSnappy:
      return codecs::snappy_decompressor(compressed, max_bytes);
    case Codec::kLz4:
      return codecs::lz4_decompressor(compressed, max_bytes);
    case Codec::kZstd:
      return codecs::zstd_decompressor(compressed, max_bytes);
  }
  return std::make_unique<ContiguousSource>(compressed);
}

Result<Slice> decompress(Codec codec, const Slice& compressed, ByteCount max_bytes) {
  if (codec == Codec::kNone) return compressed;
  std::unique_ptr<ChunkSource> source = make_decompressor(codec, compressed.bytes(), max_bytes);
  ByteWriter out;
  while (true) {
    WEIR_TRY(Bytes chunk, source->next());
    if (chunk.empty()) return out.to_slice();
    out.bytes(chunk);
  }
}

std::unique_ptr<Compressor> make_compressor(const Compression& compression, ByteWriter& out,
                                            std::size_t max_size) {
  codecs::BoundedOutput bounded(out, max_size);
  switch (compression.codec) {
    case Codec::kNone:
      break;
    case Codec::kGzip:
      return codecs::gzip_compressor(compression.level, bounded);
    case Codec::kSnappy:
      return codecs::snappy_compressor(bounded);
    case Codec::kLz4:
      return codecs::lz4_compressor(compression.level, bounded);
    case Codec::kZstd:
      return codecs::zstd_compressor(compression.level, bounded);
  }
  return std::make_unique<PlainCompressor>(bounded);
}

}  // namespace weir::kafka

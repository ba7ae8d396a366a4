#include "kafka/records/codecs.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace weir::kafka::codecs {
namespace {

// 15 bits of window, and 16 for "gzip header and trailer, nothing else".
constexpr int kGzipWindowBits = 15 + 16;

Bytef* input(Bytes bytes) {
  return reinterpret_cast<Bytef*>(
      const_cast<std::byte*>(bytes.data()));  // zlib does not write there
}

// zlib counts in 32 bits.
uInt step(Bytes bytes) {
  return static_cast<uInt>(
      std::min<std::size_t>(bytes.size(), std::numeric_limits<std::int32_t>::max()));
}

class GzipDecompressor final : public ChunkSource {
 public:
  GzipDecompressor(Bytes compressed, ByteCount max_bytes) : rest_(compressed), limit_(max_bytes) {
    ready_ = inflateInit2(&stream_, kGzipWindowBits) == Z_OK;
  }
  ~GzipDecompressor() override { inflateEnd(&stream_); }

  Result<Bytes> next() override {
    if (!ready_) return fail(ErrorCode::kInternal, "gzip: cannot allocate a decoder");
    while (true) {
      if (member_ended_) {
        // The end, or one more member.
        if (rest_.empty()) return Bytes{};
        inflateReset(&stream_);
        member_ended_ = false;
      }
      stream_.next_in = input(rest_);
      stream_.avail_in = step(rest_);
      stream_.next_out = reinterpret_cast<Bytef*>(chunk_.data());
      stream_.avail_out = static_cast<uInt>(chunk_.size());
      std::size_t offered = stream_.avail_in;
      int rc = inflate(&stream_, Z_NO_FLUSH);
      rest_ = rest_.subspan(offered - stream_.avail_in);
      std::size_t made = chunk_.size() - stream_.avail_out;
      member_ended_ = rc == Z_STREAM_END;
      if (rc == Z_BUF_ERROR) return fail(ErrorCode::kCorrupt, "gzip: the input ends early");
      if (rc != Z_OK && rc != Z_STREAM_END) return fail(ErrorCode::kCorrupt, "gzip: bad data");
      if (made == 0) continue;
      WEIR_CHECK(limit_.take(made));
      return Bytes(chunk_).first(made);
    }
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
  bool member_ended_ = false;
  Bytes rest_;
  OutputLimit limit_;
  std::array<std::byte, kChunkSize> chunk_;
};

class GzipCompressor final : public Compressor {
 public:
  GzipCompressor(int level, BoundedOutput out) : out_(out) {
    constexpr int kMemoryLevel = 8;
    ready_ = deflateInit2(&stream_, level, Z_DEFLATED, kGzipWindowBits, kMemoryLevel,
                          Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~GzipCompressor() override { deflateEnd(&stream_); }

  Status write(Bytes bytes) override {
    while (!bytes.empty()) {
      uInt offered = step(bytes);
      WEIR_CHECK(deflate_all(bytes.first(offered), Z_NO_FLUSH));
      bytes = bytes.subspan(offered);
    }
    return {};
  }
  Status finish() override { return deflate_all({}, Z_FINISH); }

 private:
  Status deflate_all(Bytes bytes, int flush) {
    if (!ready_) return fail(ErrorCode::kInternal, "gzip: cannot make an encoder");
    stream_.next_in = input(bytes);
    stream_.avail_in = step(bytes);
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(chunk_.data());
      stream_.avail_out = static_cast<uInt>(chunk_.size());
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) {
        return fail(ErrorCode::kInternal, "gzip: the encoder failed");
      }
      WEIR_CHECK(out_.append(Bytes(chunk_).first(chunk_.size() - stream_.avail_out)));
    } while (stream_.avail_out == 0);
    return {};
  }

  z_stream stream_{};
  bool ready_ = false;
  BoundedOutput out_;
  std::array<std::byte, kChunkSize> chunk_;
};

}  // namespace

std::unique_ptr<ChunkSource> gzip_decompressor(Bytes compressed, ByteCount max_bytes) {
  return std::make_unique<GzipDecompressor>(compressed, max_bytes);
}

std::unique_ptr<Compressor> gzip_compressor(std::optional<int> level, BoundedOutput out) {
  return std::make_unique<GzipCompressor>(level.value_or(Z_DEFAULT_COMPRESSION), out);
}

}  // namespace weir::kafka::codecs

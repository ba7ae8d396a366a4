#include "kafka/records/codecs.h"

#include <zstd.h>

#include <array>
#include <memory>
#include <utility>

namespace weir::kafka::codecs {
namespace {

// 128 MiB, what Kafka's clients read at most. The memory is touched only as far as the frame really
// reaches.
constexpr int kMaxWindowLog = 27;

struct FreeDecoder {
  void operator()(ZSTD_DCtx* decoder) const { ZSTD_freeDCtx(decoder); }
};
using Decoder = std::unique_ptr<ZSTD_DCtx, FreeDecoder>;

// To make one takes longer than to decode a small batch with it: each thread keeps the last, unless
// it has grown.
thread_local Decoder spare_decoder;
// With the window of what was compressed at the usual level, 2 MiB, of which a small batch touches
// little.
constexpr std::size_t kMostKept = 3 * 1024 * 1024;

Decoder take_decoder() {
  if (spare_decoder) return std::move(spare_decoder);
  Decoder decoder(ZSTD_createDCtx());
  if (decoder) ZSTD_DCtx_setParameter(decoder.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  return decoder;
}

void put_back(Decoder decoder) {
  if (!decoder || ZSTD_sizeof_DCtx(decoder.get()) > kMostKept) return;
  ZSTD_DCtx_reset(decoder.get(), ZSTD_reset_session_only);
  spare_decoder = std::move(decoder);
}

class ZstdDecompressor final : public ChunkSource {
 public:
  ZstdDecompressor(Bytes compressed, ByteCount max_bytes)
      : context_(take_decoder()),
        input_{compressed.data(), compressed.size(), 0},
        limit_(max_bytes) {}
  ~ZstdDecompressor() override { put_back(std::move(context_)); }

  Result<Bytes> next() override {
    if (!context_) return fail(ErrorCode::kInternal, "zstd: cannot allocate a decoder");
    while (true) {
      if (frame_ended_ && input_.pos == input_.size) return Bytes{};
      ZSTD_outBuffer output{chunk_.data(), chunk_.size(), 0};
      std::size_t before = input_.pos;
      std::size_t rc = ZSTD_decompressStream(context_.get(), &output, &input_);
      if (ZSTD_isError(rc)) {
        return fail(ErrorCode::kCorrupt, std::string("zstd: ") + ZSTD_getErrorName(rc));
      }
      frame_ended_ = rc == 0;
      if (output.pos > 0) {
        WEIR_CHECK(limit_.take(output.pos));
        return Bytes(chunk_).first(output.pos);
      }
      if (input_.pos == before && !frame_ended_) {
        return fail(ErrorCode::kCorrupt, "zstd: the input ends early");
      }
    }
  }

 private:
  Decoder context_;
  ZSTD_inBuffer input_;
  bool frame_ended_ = false;
  OutputLimit limit_;
  std::array<std::byte, kChunkSize> chunk_;
};

class ZstdCompressor final : public Compressor {
 public:
  ZstdCompressor(int level, BoundedOutput out) : context_(ZSTD_createCCtx()), out_(out) {
    if (context_) ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, level);
  }
  ~ZstdCompressor() override { ZSTD_freeCCtx(context_); }

  Status write(Bytes bytes) override { return run(bytes, ZSTD_e_continue); }
  Status finish() override { return run({}, ZSTD_e_end); }

 private:
  Status run(Bytes bytes, ZSTD_EndDirective directive) {
    if (!context_) return fail(ErrorCode::kInternal, "zstd: cannot allocate an encoder");
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    std::size_t left = 0;
    do {
      ZSTD_outBuffer output{chunk_.data(), chunk_.size(), 0};
      left = ZSTD_compressStream2(context_, &output, &input, directive);
      if (ZSTD_isError(left)) {
        return fail(ErrorCode::kInternal, std::string("zstd: ") + ZSTD_getErrorName(left));
      }
      WEIR_CHECK(out_.append(Bytes(chunk_).first(output.pos)));
    } while (input.pos < input.size || (directive == ZSTD_e_end && left > 0));
    return {};
  }

  ZSTD_CCtx* context_;
  BoundedOutput out_;
  std::array<std::byte, kChunkSize> chunk_;
};

}  // namespace

std::unique_ptr<ChunkSource> zstd_decompressor(Bytes compressed, ByteCount max_bytes) {
  return std::make_unique<ZstdDecompressor>(compressed, max_bytes);
}

std::unique_ptr<Compressor> zstd_compressor(std::optional<int> level, BoundedOutput out) {
  return std::make_unique<ZstdCompressor>(level.value_or(ZSTD_CLEVEL_DEFAULT), out);
}

}  // namespace weir::kafka::codecs

#include "kafka/records/codecs.h"

#include <lz4frame.h>

#include <algorithm>
#include <array>

namespace weir::kafka {
namespace codecs {
namespace {

// 0x184D2204, little-endian.
constexpr std::array<std::byte, 4> kFrameStart{std::byte{0x04}, std::byte{0x22}, std::byte{0x4D},
                                               std::byte{0x18}};

class Lz4Decompressor final : public ChunkSource {
 public:
  Lz4Decompressor(Bytes compressed, ByteCount max_bytes) : rest_(compressed), limit_(max_bytes) {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION))) context_ = nullptr;
    // Skippable frames, which the library would pass over, are none of Kafka's.
    starts_well_ = rest_.size() >= kFrameStart.size() &&
                   std::ranges::equal(rest_.first(kFrameStart.size()), kFrameStart);
  }
  ~Lz4Decompressor() override { LZ4F_freeDecompressionContext(context_); }

  Result<Bytes> next() override {
    if (!context_) return fail(ErrorCode::kInternal, "lz4: cannot allocate a decoder");
    if (!starts_well_) return fail(ErrorCode::kCorrupt, "lz4: no frame");
    while (!frame_ended_) {
      std::size_t made = chunk_.size();
      std::size_t taken = rest_.size();
      std::size_t rc =
          LZ4F_decompress(context_, chunk_.data(), &made, rest_.data(), &taken, nullptr);
      if (LZ4F_isError(rc)) {
        return fail(ErrorCode::kCorrupt, std::string("lz4: ") + LZ4F_getErrorName(rc));
      }
      rest_ = rest_.subspan(taken);
      frame_ended_ = rc == 0;
      if (made > 0) {
        WEIR_CHECK(limit_.take(made));
        return Bytes(chunk_).first(made);
      }
      if (taken == 0 && !frame_ended_) {
        return fail(ErrorCode::kCorrupt, "lz4: the input ends early");
      }
    }
    if (!rest_.empty()) return fail(ErrorCode::kCorrupt, "lz4: bytes after the frame");
    return Bytes{};
  }

 private:
  LZ4F_dctx* context_ = nullptr;
  Bytes rest_;
  bool starts_well_ = false;
  bool frame_ended_ = false;
  OutputLimit limit_;
  std::array<std::byte, kChunkSize> chunk_;
};

// What Kafka's own producer writes: independent blocks of 64 KiB, no content checksum.
LZ4F_preferences_t preferences(std::optional<int> level) {
  LZ4F_preferences_t out{};
  out.frameInfo.blockSizeID = LZ4F_max64KB;
  out.frameInfo.blockMode = LZ4F_blockIndependent;
  // Kafka's usual level, 9, is the fast compressor; the others are levels of the high-compression
  // one.
  constexpr int kKafkaDefault = 9;
  if (level && *level != kKafkaDefault) out.compressionLevel = std::max(*level, 3);
  return out;
}

class Lz4Compressor final : public Compressor {
 public:
  Lz4Compressor(std::optional<int> level, BoundedOutput out)
      : preferences_(preferences(level)), out_(out) {
    if (LZ4F_isError(LZ4F_createCompressionContext(&context_, LZ4F_VERSION))) context_ = nullptr;
    block_.resize(LZ4F_compressBound(kChunkSize, &preferences_));
  }
  ~Lz4Compressor() override { LZ4F_freeCompressionContext(context_); }

  Status write(Bytes bytes) override {
    WEIR_CHECK(begin());
    while (!bytes.empty()) {
      Bytes step = bytes.first(std::min(bytes.size(), kChunkSize));
      WEIR_CHECK(append(LZ4F_compressUpdate(context_, block_.data(), block_.size(), step.data(),
                                            step.size(), nullptr)));
      bytes = bytes.subspan(step.size());
    }
    return {};
  }

  Status finish() override {
    WEIR_CHECK(begin());
    return append(LZ4F_compressEnd(context_, block_.data(), block_.size(), nullptr));
  }

 private:
  Status begin() {
    if (!context_) return fail(ErrorCode::kInternal, "lz4: cannot allocate an encoder");
    if (begun_) return {};
    begun_ = true;
    return append(LZ4F_compressBegin(context_, block_.data(), block_.size(), &preferences_));
  }

  Status append(std::size_t made) {
    if (LZ4F_isError(made)) {
      return fail(ErrorCode::kInternal, std::string("lz4: ") + LZ4F_getErrorName(made));
    }
    return out_.append(Bytes(block_).first(made));
  }

  LZ4F_cctx* context_ = nullptr;
  LZ4F_preferences_t preferences_;
  bool begun_ = false;
  BoundedOutput out_;
  std::vector<std::byte> block_;
};

}  // namespace

std::unique_ptr<ChunkSource> lz4_decompressor(Bytes compressed, ByteCount max_bytes) {
  return std::make_unique<Lz4Decompressor>(compressed, max_bytes);
}

std::unique_ptr<Compressor> lz4_compressor(std::optional<int> level, BoundedOutput out) {
  return std::make_unique<Lz4Compressor>(level, out);
}

}  // namespace codecs

bool has_independent_blocks(Bytes lz4_frame) {
  constexpr std::size_t kFlags = 4;
  constexpr std::byte kIndependentBit{0x20};
  return lz4_frame.size() > kFlags && (lz4_frame[kFlags] & kIndependentBit) != std::byte{0};
}

}  // namespace weir::kafka

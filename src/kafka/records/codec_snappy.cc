#include "base/big_endian.h"
#include "kafka/records/codecs.h"

#include <snappy-c.h>

#include <algorithm>
#include <array>

namespace weir::kafka::codecs {
namespace {

// The framing of the Java library, which nearly all clients write: this magic, two int32 versions,
// and blocks with their length in front. Some clients send one raw block instead.
constexpr std::array<unsigned char, 8> kXerialMagic{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
constexpr std::size_t kXerialHeaderSize = 16;
constexpr std::uint32_t kXerialVersion = 1;
constexpr std::size_t kBlockSize = 32 * 1024;

bool is_xerial(Bytes bytes) {
  return bytes.size() >= kXerialHeaderSize &&
         std::memcmp(bytes.data(), kXerialMagic.data(), kXerialMagic.size()) == 0;
}

const char* chars(Bytes bytes) { return reinterpret_cast<const char*>(bytes.data()); }

class SnappyDecompressor final : public ChunkSource {
 public:
  SnappyDecompressor(Bytes compressed, ByteCount max_bytes)
      : rest_(compressed), is_raw_(!is_xerial(compressed)), limit_(max_bytes) {
    if (!is_raw_) rest_ = rest_.subspan(kXerialHeaderSize);
  }

  Result<Bytes> next() override {
    while (!rest_.empty() || is_raw_) {
      WEIR_TRY(Bytes block, next_block());
      WEIR_TRY(Bytes chunk, decompress(block));
      if (!chunk.empty()) return chunk;
    }
    return Bytes{};
  }

 private:
  Result<Bytes> next_block() {
    if (is_raw_) {
      is_raw_ = false;
      return std::exchange(rest_, {});
    }
    if (rest_.size() < sizeof(std::uint32_t)) {
      return fail(ErrorCode::kCorrupt, "snappy: bytes after the last block");
    }
    auto length = load_big_endian<std::uint32_t>(rest_.data());
    rest_ = rest_.subspan(sizeof length);
    if (length > rest_.size()) {
      return fail(ErrorCode::kCorrupt, "snappy: a block is longer than what is left");
    }
    Bytes block = rest_.first(length);
    rest_ = rest_.subspan(length);
    return block;
  }

  Result<Bytes> decompress(Bytes block) {
    // Three bytes give at most 64: a block that promises more than that is refused before memory is
    // taken for it.
    constexpr std::size_t kMaxRatio = 22;
    std::size_t size = 0;
    if (snappy_uncompressed_length(chars(block), block.size(), &size) != SNAPPY_OK ||
        size / kMaxRatio > block.size()) {
      return fail(ErrorCode::kCorrupt, "snappy: bad block length");
    }
    WEIR_CHECK(limit_.take(size));
    if (size > capacity_) {
      chunk_ = std::make_unique_for_overwrite<char[]>(size);
      capacity_ = size;
    }
    if (snappy_uncompress(chars(block), block.size(), chunk_.get(), &size) != SNAPPY_OK) {
      return fail(ErrorCode::kCorrupt, "snappy: bad data");
    }
    return std::as_bytes(std::span(chunk_.get(), size));
  }

  Bytes rest_;
  bool is_raw_;
  OutputLimit limit_;
  std::unique_ptr<char[]> chunk_;
  std::size_t capacity_ = 0;
};

class SnappyCompressor final : public Compressor {
 public:
  explicit SnappyCompressor(BoundedOutput out) : out_(out) { pending_.reserve(kBlockSize); }

  Status write(Bytes bytes) override {
    while (!bytes.empty()) {
      std::size_t room = std::min(kBlockSize - pending_.size(), bytes.size());
      pending_.insert(pending_.end(), bytes.begin(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(room));
      bytes = bytes.subspan(room);
      if (pending_.size() == kBlockSize) WEIR_CHECK(flush());
    }
    return {};
  }

  Status finish() override { return flush(); }

 private:
  Status flush() {
    if (!begun_) {
      std::array<std::byte, kXerialHeaderSize> header;
      std::memcpy(header.data(), kXerialMagic.data(), kXerialMagic.size());
      store_big_endian(header.data() + kXerialMagic.size(), kXerialVersion);
      store_big_endian(header.data() + kXerialMagic.size() + sizeof(std::uint32_t), kXerialVersion);
      begun_ = true;
      WEIR_CHECK(out_.append(header));
    }
    if (pending_.empty()) return {};
    std::vector<std::byte> block(sizeof(std::uint32_t) +
                                 snappy_max_compressed_length(pending_.size()));
    std::size_t size = block.size() - sizeof(std::uint32_t);
    if (snappy_compress(chars(pending_), pending_.size(),
                        reinterpret_cast<char*>(block.data()) + sizeof(std::uint32_t),
                        &size) != SNAPPY_OK) {
      return fail(ErrorCode::kInternal, "snappy: the encoder failed");
    }
    store_big_endian(block.data(), static_cast<std::uint32_t>(size));
    pending_.clear();
    return out_.append(Bytes(block).first(sizeof(std::uint32_t) + size));
  }

  BoundedOutput out_;
  bool begun_ = false;
  std::vector<std::byte> pending_;
};

}  // namespace

std::unique_ptr<ChunkSource> snappy_decompressor(Bytes compressed, ByteCount max_bytes) {
  return std::make_unique<SnappyDecompressor>(compressed, max_bytes);
}

std::unique_ptr<Compressor> snappy_compressor(BoundedOutput out) {
  return std::make_unique<SnappyCompressor>(out);
}

}  // namespace weir::kafka::codecs

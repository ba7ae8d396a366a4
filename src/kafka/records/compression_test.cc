#include "kafka/records/compression.h"

#include "kafka/records/record_test_support.h"
#include "runtime/rng.h"

#include <gtest/gtest.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

namespace weir::kafka {
namespace {

constexpr Codec kCodecs[] = {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};

// Compressible, and longer than any block.
std::string text(std::size_t size) {
  Rng rng(1);
  std::string out;
  while (out.size() < size) out += fmt::format("line {} of the text;", rng.below(5000));
  out.resize(size);
  return out;
}

std::vector<std::byte> compressed(const Compression& compression, std::string_view input) {
  ByteWriter out;
  auto compressor = make_compressor(compression, out, SIZE_MAX);
  EXPECT_TRUE(compressor->write(as_bytes(input)));
  EXPECT_TRUE(compressor->finish());
  return out.release();
}

Result<std::string> decompressed(Codec codec, Bytes bytes, ByteCount limit = kTestLimit) {
  auto source = make_decompressor(codec, bytes, limit);
  std::string out;
  while (true) {
    WEIR_TRY(Bytes chunk, source->next());
    if (chunk.empty()) break;
    out += as_text(chunk);
  }
  // The end stays the end.
  WEIR_TRY(Bytes more, source->next());
  EXPECT_TRUE(more.empty());
  return out;
}

TEST(Compression, EveryCodecGivesBackItsInput) {
  for (Codec codec : kCodecs) {
    for (std::size_t size : {0, 1, 100, 32768, 65536, 65537, 1000000}) {
      std::string input = text(size);
      auto bytes = compressed({codec, {}}, input);
      auto back = decompressed(codec, bytes);
      ASSERT_TRUE(back) << to_string(codec) << size << back.error().message;
      EXPECT_EQ(*back, input) << to_string(codec) << size;
      auto whole = decompress(codec, Slice::copy_of(bytes), kTestLimit);
      ASSERT_TRUE(whole);
      EXPECT_EQ(as_text(whole->bytes()), input);
    }
  }
}

TEST(Compression, WritesInPiecesOfAnySize) {
  std::string input = text(200000);
  for (Codec codec : kCodecs) {
    ByteWriter out;
    auto compressor = make_compressor({codec, {}}, out, SIZE_MAX);
    for (std::size_t at = 0, step = 1; at < input.size(); at += step, step = step * 3 + 1) {
      ASSERT_TRUE(compressor->write(as_bytes(std::string_view(input).substr(at, step))));
    }
    ASSERT_TRUE(compressor->finish());
    EXPECT_EQ(decompressed(codec, out.view()).value(), input) << to_string(codec);
  }
}

TEST(Compression, LevelsChangeTheSizeAndNotTheContent) {
  std::string input = text(300000);
  auto size = [&](Codec codec, int level) {
    auto bytes = compressed({codec, level}, input);
    EXPECT_EQ(decompressed(codec, bytes).value(), input);
    return bytes.size();
  };
  EXPECT_LT(size(Codec::kGzip, 9), size(Codec::kGzip, 1));
  EXPECT_EQ(size(Codec::kGzip, -1), size(Codec::kGzip, 6));
  EXPECT_LT(size(Codec::kZstd, 19), size(Codec::kZstd, 1));
  EXPECT_LT(size(Codec::kZstd, 1), size(Codec::kZstd, -100000));
  EXPECT_LT(size(Codec::kLz4, 17), size(Codec::kLz4, 9));
  EXPECT_EQ(size(Codec::kLz4, 9), compressed({Codec::kLz4, {}}, input).size());
  EXPECT_LT(size(Codec::kLz4, 1), size(Codec::kLz4, 9));
}

TEST(Compression, OutputStopsAtItsLimit) {
  std::string input = text(300000);
  for (Codec codec : kCodecs) {
    std::size_t size = compressed({codec, {}}, input).size();
    ByteWriter exact;
    auto fits = make_compressor({codec, {}}, exact, size);
    EXPECT_TRUE(fits->write(as_bytes(input)) && fits->finish()) << to_string(codec);
    ByteWriter small;
    auto over = make_compressor({codec, {}}, small, size - 1);
    Status status = over->write(as_bytes(input));
    if (status) status = over->finish();
    ASSERT_FALSE(status) << to_string(codec);
    EXPECT_EQ(status.error().code, ErrorCode::kExhausted);
    EXPECT_LT(small.size(), size);
  }
}

// §4.7: what other clients write, made here by the codecs' own libraries.
TEST(Decompression, SnappyWithoutFraming) {
  std::string input = text(100000);
  std::string block(snappy_max_compressed_length(input.size()), '\0');
  std::size_t size = block.size();
  ASSERT_EQ(snappy_compress(input.data(), input.size(), block.data(), &size), SNAPPY_OK);
  EXPECT_EQ(decompressed(Codec::kSnappy, as_bytes(block).first(size)).value(), input);
}

TEST(Decompression, SnappyInXerialBlocks) {
  // Two blocks by hand: "abc" as a literal, and "abcabcabc" as a literal and a copy.
  std::string framed = std::string("\x82SNAPPY\0\0\0\0\1\0\0\0\1", 16) +
                       std::string(
                           "\0\0\0\5\3\x08"
                           "abc",
                           9) +
                       std::string(
                           "\0\0\0\7\x09\x08"
                           "abc\x09\x03",
                           11);
  EXPECT_EQ(decompressed(Codec::kSnappy, as_bytes(framed)).value(), "abcabcabcabc");
  // Bytes that are no whole block, and a second stream, which librdkafka does not read.
  EXPECT_FALSE(decompressed(Codec::kSnappy, as_bytes(framed + "x")));
  EXPECT_FALSE(decompressed(Codec::kSnappy, as_bytes(framed + framed)));
  for (std::size_t cut = 1; cut < 11; ++cut) {
    EXPECT_FALSE(decompressed(Codec::kSnappy, as_bytes(framed).first(framed.size() - cut)));
  }
}

TEST(Decompression, SnappyBlockThatPromisesTooMuch) {
  // 2^32 - 1 bytes from a block of a few: refused, not allocated.
  std::string block(
      "\xFF\xFF\xFF\xFF\x0F\x08"
      "abc",
      9);
  auto out = decompressed(Codec::kSnappy, as_bytes(block), UINT64_MAX);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::kCorrupt);
}

std::string lz4_frame(const std::string& input, LZ4F_blockMode_t mode, LZ4F_blockSizeID_t size,
                      bool checksums) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockMode = mode;
  preferences.frameInfo.blockSizeID = size;
  if (checksums) {
    preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    preferences.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
    preferences.frameInfo.contentSize = input.size();
  }
  std::string out(LZ4F_compressFrameBound(input.size(), &preferences), '\0');
  out.resize(LZ4F_compressFrame(out.data(), out.size(), input.data(), input.size(), &preferences));
  return out;
}

TEST(Decompression, Lz4FramesOfEveryForm) {
  // More than one block of the largest kind.
  std::string part = text(200000);
  std::string input;
  for (int i = 0; i < 25; ++i) input += part;
  for (auto mode : {LZ4F_blockIndependent, LZ4F_blockLinked}) {
    for (auto size : {LZ4F_max64KB, LZ4F_max256KB, LZ4F_max1MB, LZ4F_max4MB}) {
      for (bool checksums : {false, true}) {
        std::string frame = lz4_frame(input, mode, size, checksums);
        EXPECT_EQ(decompressed(Codec::kLz4, as_bytes(frame)).value(), input);
        EXPECT_EQ(has_independent_blocks(as_bytes(frame)), mode == LZ4F_blockIndependent);
      }
    }
  }
}

TEST(Decompression, Lz4ChecksumsAreChecked) {
  std::string frame = lz4_frame(text(1000), LZ4F_blockIndependent, LZ4F_max64KB, true);
  frame.back() ^= 1;
  EXPECT_FALSE(decompressed(Codec::kLz4, as_bytes(frame)));
}

TEST(Decompression, GzipMembersFollowEachOther) {
  auto a = compressed({Codec::kGzip, {}}, text(100000));
  auto b = compressed({Codec::kGzip, {}}, "tail");
  a.insert(a.end(), b.begin(), b.end());
  EXPECT_EQ(decompressed(Codec::kGzip, a).value(), text(100000) + "tail");
  // The trailer's CRC and length count.
  for (std::size_t i = 1; i <= 8; ++i) {
    auto bad = b;
    bad[bad.size() - i] ^= std::byte{1};
    EXPECT_FALSE(decompressed(Codec::kGzip, bad)) << i;
  }
}

std::string zstd_frame(const std::string& input, ZSTD_cParameter parameter, int value) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, parameter, value);
  // In a stream, so that the frame names its window and not its size.
  std::string out(ZSTD_compressBound(input.size()), '\0');
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  ZSTD_inBuffer whole{input.data(), input.size(), 0};
  ZSTD_compressStream2(context, &output, &whole, ZSTD_e_flush);
  ZSTD_compressStream2(context, &output, &whole, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  out.resize(output.pos);
  return out;
}

TEST(Decompression, ZstdFramesWithWindowsUpToTheLimit) {
  std::string input = text(300000);
  for (int log : {10, 23, 27}) {
    EXPECT_EQ(
        decompressed(Codec::kZstd, as_bytes(zstd_frame(input, ZSTD_c_windowLog, log))).value(),
        input);
  }
  auto over = decompressed(Codec::kZstd, as_bytes(zstd_frame(input, ZSTD_c_windowLog, 28)));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::kCorrupt);
  std::string checked = zstd_frame(input, ZSTD_c_checksumFlag, 1);
  EXPECT_EQ(decompressed(Codec::kZstd, as_bytes(checked + checked)).value(), input + input);
  checked.back() ^= 1;
  EXPECT_FALSE(decompressed(Codec::kZstd, as_bytes(checked)));
}

TEST(Decompression, CutInputIsCorrupt) {
  std::string input = text(70000);
  for (Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    auto bytes = compressed({codec, {}}, input);
    for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 50) {
      auto out = decompressed(codec, Bytes(bytes).first(size));
      // A xerial stream may end after any block; the records say then that some are missing.
      if (codec == Codec::kSnappy && out) {
        EXPECT_LT(out->size(), input.size());
        continue;
      }
      ASSERT_FALSE(out) << to_string(codec) << " " << size;
      EXPECT_EQ(out.error().code, ErrorCode::kCorrupt);
    }
  }
}

// Decoders are used again: nothing of what one met is left to the next.
TEST(Decompression, ZstdAfterWhatWasDamagedOrNotReadToItsEnd) {
  const std::string input = text(200'000);
  const auto good = compressed({Codec::kZstd, {}}, input);
  auto damaged = good;
  damaged[good.size() / 2] ^= std::byte{0xff};
  damaged[good.size() / 2 + 1] ^= std::byte{0xff};
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(decompressed(Codec::kZstd, damaged).value_or(""), input);
    EXPECT_FALSE(decompressed(Codec::kZstd, Bytes(good).first(good.size() / 2)));
    EXPECT_EQ(decompressed(Codec::kZstd, good).value_or(""), input);
    {
      auto first = make_decompressor(Codec::kZstd, good, kTestLimit);
      auto second = make_decompressor(Codec::kZstd, good, kTestLimit);
      EXPECT_FALSE(first->next().value_or(Bytes()).empty());
      EXPECT_FALSE(second->next().value_or(Bytes()).empty());
    }
    EXPECT_EQ(decompressed(Codec::kZstd, good).value_or(""), input);
  }
}

TEST(Decompression, BytesAfterTheEndAreCorrupt) {
  for (Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    auto bytes = compressed({codec, {}}, text(1000));
    for (int i = 0; i < 3; ++i) bytes.push_back(std::byte{1});
    auto out = decompressed(codec, bytes);
    ASSERT_FALSE(out) << to_string(codec);
    EXPECT_EQ(out.error().code, ErrorCode::kCorrupt);
  }
  // A second LZ4 frame is not read by Kafka's clients.
  auto twice = compressed({Codec::kLz4, {}}, "a");
  auto copy = twice;
  twice.insert(twice.end(), copy.begin(), copy.end());
  EXPECT_FALSE(decompressed(Codec::kLz4, twice));
}

TEST(Decompression, BombsStopAtTheLimit) {
  std::string zeros(5'000'000, '\0');
  for (Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    auto bomb = compressed({codec, {}}, zeros);
    EXPECT_LT(bomb.size(), zeros.size() / 15);
    auto out = decompressed(codec, bomb, zeros.size() - 1);
    ASSERT_FALSE(out) << to_string(codec);
    EXPECT_EQ(out.error().code, ErrorCode::kExhausted);
    EXPECT_TRUE(decompressed(codec, bomb, zeros.size())) << to_string(codec);
  }
}

}  // namespace
}  // namespace weir::kafka

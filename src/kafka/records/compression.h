// The four codecs of record batches, in streams: a decompressor is a ChunkSource whose memory is
// bounded by its chunk and the codec's window, not by what comes out; a compressor appends to a
// buffer up to a limit. One thread at a time.
//
// Framing: gzip members; snappy as xerial blocks or as one raw block; one LZ4 frame of any legal
// form; zstd frames. Bytes after the end of a frame are an error: clients differ in what they make
// of them.
#pragma once
#include "base/byte_writer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"
#include "kafka/records/chunk_source.h"
#include "kafka/records/record_batch.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace weir::kafka {

// A codec and its level. Without a level: the codec's usual one. The levels are Kafka's: gzip 1 to
// 9; lz4 1 to 17, where 9 is the usual fast one; zstd -131072 to 22; snappy has none.
struct Compression {
  Codec codec = Codec::kNone;
  std::optional<int> level;
};

// A decompressor of `compressed`, which must outlive it. Its chunks hold up to 64 KiB, except for
// snappy: one block. The source fails with kCorrupt for malformed input, kExhausted when more than
// `max_bytes` would come out.
[[nodiscard]] std::unique_ptr<ChunkSource> make_decompressor(Codec codec, Bytes compressed,
                                                             ByteCount max_bytes);

// Everything that `compressed` holds, at once. Without a copy for Codec::kNone of a Slice.
[[nodiscard]] Result<Slice> decompress(Codec codec, const Slice& compressed, ByteCount max_bytes);

class Compressor {
 public:
  virtual ~Compressor() = default;
  // Fails with kExhausted when the output would pass its limit; kInternal when the codec fails. No
  // calls after a failure.
  virtual Status write(Bytes bytes) = 0;
  // Ends the frame; no calls after it.
  virtual Status finish() = 0;
};

// Appends to `out`, which must outlive it, until out.size() would pass `max_size`.
[[nodiscard]] std::unique_ptr<Compressor> make_compressor(const Compression& compression,
                                                          ByteWriter& out, std::size_t max_size);

// True when every Kafka client can read the LZ4 frame: Java's reader refuses blocks that depend on
// earlier ones.
[[nodiscard]] bool has_independent_blocks(Bytes lz4_frame);

}  // namespace weir::kafka

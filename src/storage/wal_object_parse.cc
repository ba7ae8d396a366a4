#include "base/byte_reader.h"
#include "base/crc32c.h"
#include "storage/object_trailer.h"
#include "storage/wal_layout.h"
#include "storage/wal_object.h"

#include <fmt/format.h>

namespace weir::storage {
namespace {

using namespace wal_layout;

template <typename... Args>
std::unexpected<Error> corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kCorrupt,
              "WAL object: " + fmt::format(format, std::forward<Args>(args)...));
}

// Reads the index entry by entry. Runs must fill the object's first `data_size` bytes.
class IndexParser {
 public:
  IndexParser(Bytes index, ByteCount data_size) : in_(index), data_size_(data_size) {}

  Result<WalIndex> parse() {
    while (in_.remaining() > 0) WEIR_CHECK(parse_run());
    if (end_ != data_size_) {
      return corrupt("the runs of the index end at byte {}, the data at {}", end_, data_size_);
    }
    return std::move(out_);
  }

 private:
  Status parse_run() {
    WalRun run;
    run.partition.topic = in_.uuid();
    run.partition.partition = in_.i32();
    run.batch_count = in_.u32();
    run.byte_offset = in_.u32();
    run.byte_length = in_.u32();
    run.crc = in_.u32();
    run.first_batch = static_cast<std::uint32_t>(out_.batches.size());
    if (!in_.ok()) return corrupt("the index ends within the entry of run {}", out_.runs.size());
    if (run.partition.partition < 0) {
      return corrupt("run {} has partition {}", out_.runs.size(), run.partition.partition);
    }
    if (!out_.runs.empty() && run.partition <= out_.runs.back().partition) {
      return corrupt("run {} is out of order or of the same partition as the one before",
                     out_.runs.size());
    }
    if (run.byte_offset != end_) {
      return corrupt("run {} is said to begin at byte {}, but the one before ends at {}",
                     out_.runs.size(), run.byte_offset, end_);
    }
    if (run.batch_count == 0 || run.batch_count > in_.remaining() / kBatchEntrySize) {
      return corrupt("run {} cannot have {} batches", out_.runs.size(), run.batch_count);
    }
    WEIR_CHECK(parse_batches(run));
    end_ += run.byte_length;
    out_.runs.push_back(run);
    return {};
  }

  Status parse_batches(const WalRun& run) {
    constexpr std::uint32_t kSmallestBatch = 61;
    ByteCount length = 0;
    for (std::uint32_t i = 0; i < run.batch_count; ++i) {
      WalBatchInfo batch;
      batch.length = in_.u32();
      batch.attributes = in_.u16();
      batch.last_offset_delta = in_.i32();
      batch.max_timestamp = in_.i64();
      batch.producer_id = in_.i64();
      batch.producer_epoch = in_.i16();
      batch.base_sequence = in_.i32();
      if (batch.length < kSmallestBatch || batch.last_offset_delta < 0) {
        return corrupt("batch {} of run {} has {} bytes and a last offset delta of {}", i,
                       out_.runs.size(), batch.length, batch.last_offset_delta);
      }
      length += batch.length;
      out_.batches.push_back(batch);
    }
    if (length == run.byte_length) return {};
    return corrupt("run {} has {} bytes, but its batches {}", out_.runs.size(), run.byte_length,
                   length);
  }

  ByteReader in_;
  ByteCount data_size_;
  ByteCount end_ = 0;  // of the runs so far
  WalIndex out_;
};

}  // namespace

Result<WalFooter> parse_wal_footer(Bytes tail, ByteCount object_size) {
  if (tail.size() < kWalFooterSize || object_size < tail.size()) {
    return corrupt("{} bytes are too few for a footer of {}", tail.size(), kWalFooterSize);
  }
  Bytes bytes = tail.last(kWalFooterSize);
  ByteReader in(bytes);
  WalFooter footer;
  footer.id.cluster = in.uuid();
  footer.id.broker_epoch = in.i64();
  footer.id.sequence = in.i64();
  footer.index_length = in.u32();
  footer.index_crc = in.u32();
  const auto trailer = object_trailer(bytes);
  if (!trailer) return corrupt("it does not end in {}", kObjectMagic);
  // First: what the CRC is of, the kind says.
  constexpr auto kKind = static_cast<std::uint8_t>(ObjectKind::kWal);
  if (trailer->kind != kKind) {
    return corrupt("it is of kind {}, a WAL object is of kind {}", trailer->kind, kKind);
  }
  std::uint32_t actual = crc32c(bytes.first(kFooterCrc));
  if (trailer->crc != actual) {
    return corrupt("the footer's CRC is {:08x} and should be {:08x}", actual, trailer->crc);
  }
  if (trailer->version != kWalFormatVersion || trailer->reserved != 0) {
    return corrupt("it has format version {}.{}, this version of Weir reads {}.0", trailer->version,
                   trailer->reserved, kWalFormatVersion);
  }
  if (footer.index_length > object_size - kWalFooterSize) {
    return corrupt("the index would have {} bytes of {}", footer.index_length, object_size);
  }
  return footer;
}

Result<WalIndex> parse_wal_index(Bytes index, const WalFooter& footer, ByteCount object_size) {
  if (index.size() != footer.index_length || object_size < index.size() + kWalFooterSize) {
    return corrupt("{} bytes of index, the footer says {}", index.size(), footer.index_length);
  }
  std::uint32_t crc = crc32c(index);
  if (crc != footer.index_crc) {
    return corrupt("the index's CRC is {:08x} and should be {:08x}", crc, footer.index_crc);
  }
  return IndexParser(index, object_size - kWalFooterSize - index.size()).parse();
}

Result<WalContents> parse_wal_object(Bytes object) {
  WEIR_TRY(WalFooter footer, parse_wal_footer(object, object.size()));
  Bytes index_bytes = object.first(object.size() - kWalFooterSize).last(footer.index_length);
  WEIR_TRY(WalIndex index, parse_wal_index(index_bytes, footer, object.size()));
  return WalContents{footer, std::move(index)};
}

Status check_wal_run(Bytes run_bytes, const WalRun& run) {
  if (run_bytes.size() != run.byte_length) {
    return corrupt("{} bytes of a run of {}", run_bytes.size(), run.byte_length);
  }
  std::uint32_t crc = crc32c(run_bytes);
  if (crc == run.crc) return {};
  return corrupt("the CRC of the run of {} partition {} is {:08x} and should be {:08x}",
                 run.partition.topic.to_string(), run.partition.partition, crc, run.crc);
}

}  // namespace weir::storage

// Walks the records of a stream of chunks and checks their structure, without materialising any of
// them: its memory does not depend on the records. Keys, values and headers are skipped. One thread
// at a time; the source must outlive the walker.
#pragma once
#include "base/error.h"
#include "kafka/records/chunk_source.h"

#include <cstdint>
#include <limits>

namespace weir::kafka {

struct RecordInfo {
  std::int64_t timestamp_delta = 0;
  std::int32_t offset_delta = 0;
  bool has_key = false;
  bool has_value = false;
};

class RecordWalker {
 public:
  // `max_record_bytes` limits the length of one record (kCorrupt above it).
  explicit RecordWalker(ChunkSource& source,
                        std::int32_t max_record_bytes = std::numeric_limits<std::int32_t>::max())
      : source_(source), max_record_bytes_(max_record_bytes) {}

  // The next record. False: the stream ended before it, or status() has the error: kCorrupt for
  // malformed records, or what the source said.
  bool next(RecordInfo& record);
  // True when no byte is left; asks the source, so that its own end is checked (checksums of a
  // compressed frame).
  bool at_end();
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  bool refill();
  bool read_body(RecordInfo& record, std::uint64_t limit);
  bool skip_nullable(std::uint64_t limit, bool& present);
  bool skip(std::uint64_t count);
  bool read_byte(std::uint8_t& byte);
  bool read_varint(std::int32_t& value);
  bool read_varlong(std::int64_t& value);
  bool read_raw(std::uint64_t& raw, int last_shift, std::uint8_t last_max);
  bool malformed(const char* what);

  [[nodiscard]] std::uint64_t position() const {
    return chunk_start_ + static_cast<std::uint64_t>(at_ - begin_);
  }

  ChunkSource& source_;
  const std::int32_t max_record_bytes_;
  const std::byte* begin_ = nullptr;
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  std::uint64_t chunk_start_ = 0;  // position of begin_ in the stream
  std::uint64_t record_start_ = 0;
  Status status_;
};

}  // namespace weir::kafka

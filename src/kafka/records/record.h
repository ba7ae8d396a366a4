// The records inside a batch, decompressed: views of one record and its headers in contiguous
// bytes. The bytes must outlive the views. To look at records without holding all of them in memory
// see record_walker.h. Any thread.
//
//   length varint · attributes i8 · timestampDelta varlong · offsetDelta varint · keyLength varint
//   · key · valueLength varint · value · headersCount varint · { keyLength varint · key ·
//   valueLength varint · value }*
//
// All varints are zigzag; a length of -1 means null (a null value is a tombstone), which differs
// from empty.
#pragma once
#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::kafka {

// The timestamp of a record in a batch without LogAppendTime. The sum wraps around, as in Kafka's
// own readers.
[[nodiscard]] inline TimestampMs record_timestamp(TimestampMs base, std::int64_t delta) {
  return static_cast<TimestampMs>(static_cast<std::uint64_t>(base) +
                                  static_cast<std::uint64_t>(delta));
}

struct RecordHeader {
  std::string_view key;
  std::optional<Bytes> value;
};

// Headers in their order, duplicates included.
class RecordHeaders {
 public:
  RecordHeaders() = default;
  // `encoded` holds `count` well-formed headers.
  RecordHeaders(Bytes encoded, std::int32_t count) : encoded_(encoded), count_(count) {}

  [[nodiscard]] std::int32_t count() const { return count_; }
  // The headers as they lie in the record, without their count.
  [[nodiscard]] Bytes encoded() const { return encoded_; }

  // Calls visit(RecordHeader) for each.
  template <typename Visitor>
  void for_each(Visitor&& visit) const {
    ByteReader in(encoded_);
    for (std::int32_t i = 0; i < count_; ++i) visit(read(in));
  }

 private:
  friend class RecordReader;
  static RecordHeader read(ByteReader& in);

  Bytes encoded_;
  std::int32_t count_ = 0;
};

struct RecordView {
  std::uint8_t attributes = 0;
  std::int64_t timestamp_delta = 0;  // to the batch's base timestamp
  std::int32_t offset_delta = 0;     // to the batch's base offset
  std::optional<Bytes> key;
  std::optional<Bytes> value;
  RecordHeaders headers;
};

// Reads records one after the other. The first malformed one ends the reading.
class RecordReader {
 public:
  explicit RecordReader(Bytes records) : in_(records) {}

  // The next record. Nothing: the bytes ended, or status() has the error.
  std::optional<RecordView> next();
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Status status_;
  ByteReader in_;
};

// Appends one record, its length first.
void write_record(ByteWriter& out, const RecordView& record);

}  // namespace weir::kafka

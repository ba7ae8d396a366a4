#include "kafka/records/record.h"

#include <fmt/format.h>

namespace weir::kafka {
namespace {

// A varint length, -1 for null, and that many bytes.
std::optional<Bytes> read_nullable(ByteReader& in) {
  std::int32_t length = in.varint();
  if (length == -1) return std::nullopt;
  if (length < 0) {
    in.set_failed();
    return std::nullopt;
  }
  return in.take(static_cast<std::size_t>(length));
}

std::optional<RecordView> read_body(Bytes body) {
  ByteReader in(body);
  RecordView record;
  record.attributes = in.u8();
  record.timestamp_delta = in.varlong();
  record.offset_delta = in.varint();
  record.key = read_nullable(in);
  record.value = read_nullable(in);
  std::int32_t headers = in.varint();
  if (headers < 0) return std::nullopt;
  std::size_t start = in.position();
  // Every header takes a byte or more: the count cannot make this loop longer than the record.
  for (std::int32_t i = 0; i < headers && in.ok(); ++i) {
    if (!read_nullable(in)) in.set_failed();
    read_nullable(in);
  }
  if (!in.done()) return std::nullopt;
  record.headers = RecordHeaders(body.subspan(start), headers);
  return record;
}

void write_nullable(ByteWriter& out, const std::optional<Bytes>& bytes) {
  if (!bytes) {
    out.varint(-1);
    return;
  }
  out.varint(static_cast<std::int32_t>(bytes->size()));
  out.bytes(*bytes);
}

std::size_t varlong_size(std::int64_t value) {
  auto raw = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  return (static_cast<std::size_t>(std::bit_width(raw | 1)) + 6) / 7;
}

std::size_t nullable_size(const std::optional<Bytes>& bytes) {
  if (!bytes) return 1;
  return varlong_size(static_cast<std::int64_t>(bytes->size())) + bytes->size();
}

}  // namespace

RecordHeader RecordHeaders::read(ByteReader& in) {
  RecordHeader header;
  header.key = as_text(read_nullable(in).value_or(Bytes{}));
  header.value = read_nullable(in);
  return header;
}

std::optional<RecordView> RecordReader::next() {
  if (in_.remaining() == 0 || !status_) return std::nullopt;
  std::size_t at = in_.position();
  std::int32_t length = in_.varint();
  std::optional<RecordView> record;
  if (length < 0) in_.set_failed();
  Bytes body = in_.take(static_cast<std::size_t>(length));
  if (in_.ok()) record = read_body(body);
  if (!record) {
    status_ = fail(ErrorCode::kCorrupt, fmt::format("malformed record at byte {}", at));
  }
  return record;
}

void write_record(ByteWriter& out, const RecordView& record) {
  std::size_t body = 1 + varlong_size(record.timestamp_delta) + varlong_size(record.offset_delta) +
                     nullable_size(record.key) + nullable_size(record.value) +
                     varlong_size(record.headers.count()) + record.headers.encoded().size();
  out.varint(static_cast<std::int32_t>(body));
  out.u8(record.attributes);
  out.varlong(record.timestamp_delta);
  out.varint(record.offset_delta);
  write_nullable(out, record.key);
  write_nullable(out, record.value);
  out.varint(record.headers.count());
  out.bytes(record.headers.encoded());
}

}  // namespace weir::kafka

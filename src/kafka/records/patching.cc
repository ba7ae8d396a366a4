#include "kafka/records/patching.h"

#include "base/crc32c.h"

#include <array>
#include <vector>

namespace weir::kafka {
namespace {

using namespace batch_layout;

// Sets attributes and maxTimestamp in `header`, a copy of the header of a batch of `batch_size`
// bytes.
void stamp(MutableBytes header, std::uint16_t attributes, TimestampMs max_timestamp,
           std::size_t batch_size) {
  constexpr std::size_t kEnd = kMaxTimestamp + sizeof(TimestampMs);
  std::array<std::byte, kEnd - kAttributes> difference;
  Bytes span = Bytes(header).subspan(kAttributes, difference.size());
  std::copy(span.begin(), span.end(), difference.begin());
  store_big_endian(header.data() + kAttributes, attributes);
  store_big_endian(header.data() + kMaxTimestamp, max_timestamp);
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] ^= span[i];
  std::uint32_t change = crc32c_shift(crc32c_raw(difference), batch_size - kEnd);
  store_big_endian(header.data() + kCrc,
                   load_big_endian<std::uint32_t>(header.data() + kCrc) ^ change);
}

std::size_t patched_size(const BatchAssignment& assignment) {
  return assignment.log_append_time ? kBatchHeaderSize : kCrcFreePrefix;
}

// Appends the patched header, written to `header`, which is part of `memory`, and the rest of the
// batch.
void append_one(Chain& out, Buffer& memory, std::size_t at, const Slice& batch,
                const BatchAssignment& assignment) {
  std::size_t size = patched_size(assignment);
  MutableBytes header = memory.bytes().subspan(at, size);
  std::copy(batch.data(), batch.data() + size, header.begin());
  store_big_endian(header.data() + kBaseOffset, assignment.base_offset);
  store_big_endian(header.data() + kLeaderEpoch, assignment.leader_epoch);
  if (assignment.log_append_time) {
    auto attributes = load_big_endian<std::uint16_t>(header.data() + kAttributes);
    stamp(header, attributes | kLogAppendTimeBit, *assignment.log_append_time, batch.size());
  }
  out.append(memory.slice().sub(at, size));
  out.append(batch.sub(size));
}

}  // namespace

void append_patched(Chain& out, const Slice& batch, const BatchAssignment& assignment) {
  Buffer memory(patched_size(assignment));
  append_one(out, memory, 0, batch, assignment);
}

Status append_patched_run(Chain& out, const Slice& run, const BatchAssignment& assignment) {
  std::vector<std::size_t> sizes;
  BatchRun batches(run.bytes());
  while (auto batch = batches.next()) sizes.push_back(batch->size());
  if (!batches.status()) return batches.status();
  // One allocation for all headers.
  Buffer memory(sizes.size() * patched_size(assignment));
  BatchAssignment next = assignment;
  std::size_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Slice batch = run.sub(at, sizes[i]);
    append_one(out, memory, i * patched_size(assignment), batch, next);
    next.base_offset += RecordBatchView(batch.bytes()).last_offset_delta() + Offset{1};
    at += sizes[i];
  }
  return {};
}

Slice with_timestamps(const Slice& batch, std::uint16_t attributes, TimestampMs max_timestamp) {
  Buffer copy(batch.size());
  std::copy(batch.data(), batch.data() + batch.size(), copy.bytes().begin());
  stamp(copy.bytes().first(kBatchHeaderSize), attributes, max_timestamp, batch.size());
  return copy.slice();
}

}  // namespace weir::kafka

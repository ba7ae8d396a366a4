#include "kafka/records/timestamp_search.h"

#include "kafka/records/compression.h"
#include "kafka/records/record.h"
#include "kafka/records/record_walker.h"

namespace weir::kafka {
namespace {

// Calls visit(TimestampHit) for the records in offset order until it returns false.
template <typename Visitor>
Status visit_records(Bytes bytes, const BatchAssignment& assignment, ByteCount max_bytes,
                     Visitor visit) {
  WEIR_TRY(RecordBatchView batch, RecordBatchView::first_of(bytes));
  if (batch.codec_id() >= kCodecCount) {
    return fail(ErrorCode::kCorrupt, "unknown compression codec");
  }
  std::optional<TimestampMs> stamp = assignment.log_append_time;
  if (!stamp && batch.is_log_append_time()) stamp = batch.max_timestamp();
  auto source = make_decompressor(batch.codec(), batch.records(), max_bytes);
  RecordWalker walker(*source);
  RecordInfo record;
  for (std::int32_t i = 0; i < batch.records_count() && walker.next(record); ++i) {
    TimestampHit hit{
        stamp.value_or(record_timestamp(batch.base_timestamp(), record.timestamp_delta)),
        assignment.base_offset + record.offset_delta};
    if (!visit(hit)) return {};
  }
  return walker.status();
}

}  // namespace

Result<std::optional<TimestampHit>> find_timestamp(Bytes batch, const BatchAssignment& assignment,
                                                   TimestampMs target, Offset min_offset,
                                                   ByteCount max_decompressed_bytes) {
  std::optional<TimestampHit> found;
  WEIR_CHECK(visit_records(batch, assignment, max_decompressed_bytes, [&](const TimestampHit& hit) {
    if (hit.offset >= min_offset && hit.timestamp >= target) found = hit;
    return !found;
  }));
  return found;
}

Result<std::optional<TimestampHit>> find_max_timestamp(Bytes batch,
                                                       const BatchAssignment& assignment,
                                                       ByteCount max_decompressed_bytes) {
  std::optional<TimestampHit> found;
  WEIR_CHECK(visit_records(batch, assignment, max_decompressed_bytes, [&](const TimestampHit& hit) {
    if (!found || hit.timestamp > found->timestamp) found = hit;
    return true;
  }));
  return found;
}

}  // namespace weir::kafka

#include "fetch/offset_lookup.h"

namespace weir::fetch {
namespace {

// Against batches that decompress without end; what was accepted at produce is below it.
constexpr ByteCount kMaxDecompressed = 256_MiB;

TimestampMs max_timestamp_of(const AssignedBatch& batch) {
  if (batch.assignment.log_append_time) return *batch.assignment.log_append_time;
  return kafka::RecordBatchView(batch.bytes.bytes()).max_timestamp();
}

Result<std::optional<FoundOffset>> found(const std::optional<kafka::TimestampHit>& hit,
                                         const metadata::Extent& extent) {
  if (!hit) return std::nullopt;
  return FoundOffset{
      .offset = hit->offset, .timestamp = hit->timestamp, .leader_epoch = extent.leader_epoch};
}

Result<std::optional<FoundOffset>> first_in(const metadata::Extent& extent, Chain bytes,
                                            TimestampMs target, Offset from) {
  ExtentBatches batches(extent, std::move(bytes), from);
  while (auto batch = batches.next()) {
    if (max_timestamp_of(*batch) < target) continue;
    WEIR_TRY(auto hit, kafka::find_timestamp(batch->bytes.bytes(), batch->assignment, target, from,
                                             kMaxDecompressed));
    if (hit) return found(hit, extent);
  }
  WEIR_CHECK(batches.status());
  return std::nullopt;
}

Result<std::optional<FoundOffset>> greatest_in(const metadata::Extent& extent, Chain bytes,
                                               Offset from) {
  ExtentBatches batches(extent, std::move(bytes), from);
  std::optional<AssignedBatch> greatest;
  while (auto batch = batches.next()) {
    if (!greatest || max_timestamp_of(*batch) > max_timestamp_of(*greatest))
      greatest = std::move(batch);
  }
  WEIR_CHECK(batches.status());
  if (!greatest) return std::nullopt;
  WEIR_TRY(auto hit, kafka::find_max_timestamp(greatest->bytes.bytes(), greatest->assignment,
                                               kMaxDecompressed));
  return found(hit, extent);
}

}  // namespace

Task<Result<std::optional<FoundOffset>>> OffsetLookup::at_or_after(metadata::PartitionView view,
                                                                   TimestampMs target) {
  std::size_t at = view.extents.find_timestamp(target);
  for (; at < view.extents.size(); at = view.extents.find_timestamp(target, at + 1)) {
    const metadata::Extent& extent = view.extents[at];
    WEIR_CO_TRY(Chain bytes, co_await reader_.read(extent));
    auto hit = first_in(extent, std::move(bytes), target, view.log_start);
    if (!hit) reader_.forget(extent);
    if (!hit || *hit) co_return hit;
  }
  co_return std::nullopt;
}

Task<Result<std::optional<FoundOffset>>> OffsetLookup::greatest(metadata::PartitionView view) {
  std::size_t at = view.extents.find_max_timestamp();
  if (at == view.extents.size()) co_return std::nullopt;
  const metadata::Extent& extent = view.extents[at];
  WEIR_CO_TRY(Chain bytes, co_await reader_.read(extent));
  auto hit = greatest_in(extent, std::move(bytes), view.log_start);
  if (!hit) reader_.forget(extent);
  co_return hit;
}

}  // namespace weir::fetch

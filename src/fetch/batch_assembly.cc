#include "fetch/batch_assembly.h"

#include "base/planted.h"
#include "kafka/records/record_batch.h"

#include <fmt/format.h>

namespace weir::fetch {

ExtentBatches::ExtentBatches(const metadata::Extent& extent, Chain bytes, Offset from)
    : extent_(extent), bytes_(std::move(bytes)), from_(from), next_offset_(extent.base_offset) {}

std::optional<AssignedBatch> ExtentBatches::next() {
  while (auto batch = step()) {
    // Those that are passed over count, too: the offsets of the others depend on theirs.
    const bool is_whole = kafka::RecordBatchView(batch->bytes.bytes()).crc_matches();
    if (!is_whole && !planted(Bug::kChecksumUnchecked))
      return fail_with("its checksum does not match");
    if (batch->last_offset >= from_) return batch;
  }
  return std::nullopt;
}

std::optional<AssignedBatch> ExtentBatches::step() {
  const auto& slices = bytes_.slices();
  if (slice_ < slices.size() && in_slice_ == slices[slice_].size()) {
    ++slice_;
    in_slice_ = 0;
  }
  if (!status_ || slice_ == slices.size()) {
    if (status_ && next_offset_ != extent_.last_offset() + 1)
      return fail_with("the extent's batches are not complete");
    return std::nullopt;
  }
  Slice rest = slices[slice_].sub(in_slice_);
  auto view = kafka::RecordBatchView::first_of(rest.bytes());
  if (!view) return fail_with(view.error().message);
  Offset last = next_offset_ + view->last_offset_delta();
  if (view->last_offset_delta() < 0 || last > extent_.last_offset())
    return fail_with("its offsets leave the extent");
  AssignedBatch batch{
      .bytes = rest.sub(0, view->size()),
      .assignment = {.base_offset =
                         planted(Bug::kWrongBaseOffset) ? extent_.base_offset : next_offset_,
                     .leader_epoch = extent_.leader_epoch},
      .last_offset = last};
  if (extent_.log_append_time) batch.assignment.log_append_time = extent_.append_time;
  in_slice_ += view->size();
  next_offset_ = last + 1;
  return batch;
}

std::optional<AssignedBatch> ExtentBatches::fail_with(std::string what) {
  status_ = fail(ErrorCode::kCorrupt,
                 fmt::format("batch before offset {} of the object {}/{}: {}", next_offset_,
                             extent_.object.epoch, extent_.object.sequence, what));
  return std::nullopt;
}

Status check_extent(const metadata::Extent& extent, Chain bytes) {
  ExtentBatches batches(extent, std::move(bytes), extent.base_offset);
  while (batches.next()) {
  }
  return batches.status();
}

Result<bool> BatchAssembly::add(const metadata::Extent& extent, Chain bytes) {
  ExtentBatches batches(extent, std::move(bytes), from_);
  while (auto batch = batches.next()) {
    bool is_first = out_.empty();
    bool fits = out_.size() + batch->bytes.size() <= limits_.max_bytes;
    if (!fits && !(is_first && limits_.at_least_one)) return false;
    kafka::append_patched(out_, batch->bytes, batch->assignment);
    if (is_first && limits_.memory) out_ = holding(out_, std::move(limits_.memory));
  }
  WEIR_CHECK(batches.status());
  return out_.size() < limits_.max_bytes;
}

}  // namespace weir::fetch

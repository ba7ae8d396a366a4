// Any bytes as a stored run of batches. Patched, each batch has the offset and the stamp of its
// commit, and a CRC that is right exactly where it was right before; the searches by timestamp find
// what reading record by record finds.
#include "base/fuzz.h"
#include "kafka/records/compression.h"
#include "kafka/records/record.h"
#include "kafka/records/timestamp_search.h"

#include <vector>

namespace weir::kafka {
namespace {

using fuzz::require;

constexpr ByteCount kLimit = 1_MiB;
constexpr TimestampMs kStamp = 1'700'000'000'000;

void check_patched(const Slice& run, const BatchAssignment& assignment) {
  Chain chain;
  if (!append_patched_run(chain, run, assignment)) {
    require(chain.empty());
    return;
  }
  Slice patched = chain.flatten();
  require(patched.size() == run.size());
  BatchRun before(run.bytes());
  BatchRun after(patched.bytes());
  Offset next = assignment.base_offset;
  while (auto batch = after.next()) {
    auto stored = before.next();
    require(stored && batch->size() == stored->size() && batch->base_offset() == next);
    require(batch->leader_epoch() == assignment.leader_epoch);
    require(batch->crc_matches() == stored->crc_matches());
    require(as_text(batch->records()) == as_text(stored->records()));
    if (assignment.log_append_time)
      require(batch->is_log_append_time() && batch->max_timestamp() == kStamp);
    next = batch->last_offset() + 1;
  }
  require(after.status().has_value() && !before.next());
}

// All records of a batch with their timestamps; nothing where they cannot be read.
std::optional<std::vector<TimestampHit>> read_plainly(const RecordBatchView& batch,
                                                      const BatchAssignment& assignment) {
  if (batch.codec_id() >= kCodecCount) return std::nullopt;
  auto records = decompress(batch.codec(), Slice::copy_of(batch.records()), kLimit);
  if (!records) return std::nullopt;
  std::vector<TimestampHit> hits;
  RecordReader reader(records->bytes());
  for (std::int32_t i = 0; i < batch.records_count(); ++i) {
    auto record = reader.next();
    if (!record) break;
    TimestampMs timestamp = record_timestamp(batch.base_timestamp(), record->timestamp_delta);
    if (batch.is_log_append_time()) timestamp = batch.max_timestamp();
    hits.push_back({assignment.log_append_time.value_or(timestamp),
                    assignment.base_offset + record->offset_delta});
  }
  if (!reader.status()) return std::nullopt;
  return hits;
}

void require_same(const std::optional<TimestampHit>& found, const TimestampHit* expected) {
  require(found.has_value() == (expected != nullptr));
  require(!found || (found->offset == expected->offset && found->timestamp == expected->timestamp));
}

void check_searches(const RecordBatchView& batch, const BatchAssignment& assignment) {
  auto hits = read_plainly(batch, assignment);
  if (!hits) return;
  auto greatest = std::ranges::max_element(*hits, {}, &TimestampHit::timestamp);
  auto found = find_max_timestamp(batch.bytes(), assignment, kLimit);
  require(found.has_value());
  require_same(*found, greatest == hits->end() ? nullptr : &*greatest);
  if (hits->empty()) return;
  TimestampMs target = (*hits)[hits->size() / 2].timestamp;
  Offset from = assignment.base_offset + 1;
  auto first = std::ranges::find_if(*hits, [&](const TimestampHit& hit) {
    return hit.offset >= from && hit.timestamp >= target;
  });
  found = find_timestamp(batch.bytes(), assignment, target, from, kLimit);
  require(found.has_value());
  require_same(*found, first == hits->end() ? nullptr : &*first);
}

}  // namespace
}  // namespace weir::kafka

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  using namespace weir::kafka;
  Slice run = Slice::copy_of(fuzz::input(data, size));
  BatchAssignment kept{.base_offset = 1000, .leader_epoch = 6, .log_append_time = {}};
  BatchAssignment stamped{.base_offset = 1000, .leader_epoch = 6, .log_append_time = kStamp};
  check_patched(run, kept);
  check_patched(run, stamped);
  BatchRun batches(run.bytes());
  while (auto batch = batches.next()) {
    check_searches(*batch, kept);
    check_searches(*batch, stamped);
  }
  return 0;
}

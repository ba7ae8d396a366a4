#include "produce/stage.h"

namespace weir::produce {

void detach_small_part(std::span<StagedBatch> batches, const Slice& request) {
  auto lies_in_request = [&](const StagedBatch& staged) {
    return staged.batch.bytes.owner() == request.owner();
  };
  std::size_t kept = 0;
  for (const StagedBatch& staged : batches) {
    if (lies_in_request(staged)) kept += staged.batch.bytes.size();
  }
  if (kept >= request.size() / 2) return;
  for (StagedBatch& staged : batches) {
    if (lies_in_request(staged)) staged.batch.bytes = Slice::copy_of(staged.batch.bytes.bytes());
  }
}

Stage::Stage(std::size_t lanes, ByteCount full_at, std::function<void()> on_more_to_do)
    : full_at_(full_at), on_more_to_do_(std::move(on_more_to_do)) {
  for (std::size_t i = 0; i < lanes; ++i) lanes_.push_back(std::make_unique<Lane>());
}

void Stage::add(std::size_t lane, std::vector<StagedBatch> batches, MonoTime now) {
  ByteCount added = 0;
  ByteCount before = 0;
  {
    std::lock_guard lock(lanes_[lane]->mutex);
    for (StagedBatch& batch : batches) {
      added += batch.batch.bytes.size();
      lanes_[lane]->entries.push_back({std::move(batch), now});
    }
    // Within the lock, here and in take_from(): nothing is taken before it is counted.
    before = bytes_.fetch_add(added, std::memory_order_acq_rel);
  }
  bool was_empty = before == 0;
  bool became_full = before < full_at_ && before + added >= full_at_;
  if (added > 0 && (was_empty || became_full)) on_more_to_do_();
}

std::vector<StagedBatch> Stage::drain(ByteCount limit) {
  std::vector<StagedBatch> out;
  ByteCount taken = 0;
  for (std::size_t i = 0; i < lanes_.size() && taken < limit; ++i) {
    taken += take_from(*lanes_[(first_lane_ + i) % lanes_.size()], limit - taken, out);
  }
  first_lane_ = (first_lane_ + 1) % lanes_.size();
  return out;
}

ByteCount Stage::take_from(Lane& lane, ByteCount limit, std::vector<StagedBatch>& out) {
  ByteCount taken = 0;
  std::lock_guard lock(lane.mutex);
  while (!lane.entries.empty() && taken < limit) {
    taken += lane.entries.front().staged.batch.bytes.size();
    out.push_back(std::move(lane.entries.front().staged));
    lane.entries.pop_front();
  }
  bytes_.fetch_sub(taken, std::memory_order_acq_rel);
  return taken;
}

std::optional<MonoTime> Stage::oldest() const {
  std::optional<MonoTime> oldest;
  for (const auto& lane : lanes_) {
    std::lock_guard lock(lane->mutex);
    if (lane->entries.empty()) continue;
    MonoTime since = lane->entries.front().since;
    if (!oldest || since < *oldest) oldest = since;
  }
  return oldest;
}

}  // namespace weir::produce

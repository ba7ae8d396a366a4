#include "produce/sequence_gate.h"

namespace weir::produce {
namespace {

// Sequences go up to 2^31-1 and on from 0; the two are never half of that apart.
bool is_before(std::int32_t one, std::int32_t other) {
  constexpr std::uint32_t kMask = 0x7fff'ffff;
  constexpr std::uint32_t kHalf = 0x4000'0000;
  const std::uint32_t distance =
      (static_cast<std::uint32_t>(other) - static_cast<std::uint32_t>(one)) & kMask;
  return distance != 0 && distance < kHalf;
}

}  // namespace

void SequenceGate::on_failed(const SequencedBatch& batch, MonoTime now) {
  if (!batch.is_idempotent()) return;
  forget_old(now, kMost - 1);
  const Producer producer{batch.partition, batch.producer_id};
  auto [at, is_new] = missing_.try_emplace(producer);
  Missing& missing = at->second;
  const bool is_of_epoch = missing.epoch == batch.producer_epoch;
  const bool is_behind = is_of_epoch && is_before(missing.sequence, batch.base_sequence);
  // What fails behind it, or fails late of an old epoch, does not change what is missing.
  if (!is_new && (missing.epoch > batch.producer_epoch || is_behind)) return;
  missing = {.epoch = batch.producer_epoch,
             .sequence = batch.base_sequence,
             .stage = Stage::kMissing,
             .until = now + kMemory};
  by_age_.emplace_back(missing.until, producer);
}

void SequenceGate::on_judged(const SequencedBatch& batch) {
  Missing* missing = missing_before(batch);
  if (missing != nullptr && missing->sequence == batch.base_sequence)
    missing_.erase({batch.partition, batch.producer_id});
}

bool SequenceGate::may_launch(const SequencedBatch& batch, MonoTime now) {
  return passes(batch, Stage::kLaunched, now);
}

bool SequenceGate::may_submit(const SequencedBatch& batch, MonoTime now) {
  return passes(batch, Stage::kSubmitted, now);
}

bool SequenceGate::passes(const SequencedBatch& batch, Stage stage, MonoTime now) {
  if (is_open(now)) return true;
  Missing* missing = missing_before(batch);
  if (missing == nullptr) return true;
  if (missing->sequence == batch.base_sequence) missing->stage = stage;
  return missing->stage >= stage || !is_before(missing->sequence, batch.base_sequence);
}

SequenceGate::Missing* SequenceGate::missing_before(const SequencedBatch& batch) {
  if (!batch.is_idempotent()) return nullptr;
  auto at = missing_.find({batch.partition, batch.producer_id});
  return at != missing_.end() && at->second.epoch == batch.producer_epoch ? &at->second : nullptr;
}

bool SequenceGate::is_open(MonoTime now) {
  forget_old(now, kMost);
  return missing_.empty();
}

void SequenceGate::forget_old(MonoTime now, std::size_t most) {
  while (!by_age_.empty() && (by_age_.front().first <= now || by_age_.size() > most)) {
    auto at = missing_.find(by_age_.front().second);
    if (at != missing_.end() && at->second.until == by_age_.front().first) missing_.erase(at);
    by_age_.pop_front();
  }
}

}  // namespace weir::produce

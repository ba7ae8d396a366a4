#include "produce/sequence_gate.h"

namespace weir::produce {

void SequenceGate::on_failed(const SequencedBatch& batch, MonoTime now) {
  if (!batch.is_idempotent()) return;
  forget_old(now, kMost - 1);
  const Producer producer{batch.partition, batch.producer_id};
  auto [at, is_new] = missing_.try_emplace(producer);
  Missing& missing = at->second;
  // What fails behind it does not change what is missing.
  if (!is_new && missing.epoch == batch.producer_epoch) return;
  missing = {
      .epoch = batch.producer_epoch, .sequence = batch.base_sequence, .until = now + kMemory};
  by_age_.emplace_back(missing.until, producer);
}

bool SequenceGate::refuses(const SequencedBatch& batch, MonoTime now) {
  if (is_open(now) || !batch.is_idempotent()) return false;
  auto at = missing_.find({batch.partition, batch.producer_id});
  if (at == missing_.end()) return false;
  const Missing& missing = at->second;
  if (missing.epoch == batch.producer_epoch && missing.sequence != batch.base_sequence) return true;
  missing_.erase(at);
  return false;
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

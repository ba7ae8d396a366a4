// Keeps the batches of an idempotent producer behind one that failed. The state machine takes any
// sequence of a producer that it does not know (as Kafka does, whose producers may outlive what is
// known of them), so if a producer's first batch fails with its object and the second is committed
// with another, the first one's retry is out of order for ever. So from the failure on, batches
// with later sequences fail as well, until the missing one has been sent again and they come behind
// it. Bookkeeping only; single-threaded.
#pragma once
#include "base/ids.h"
#include "base/units.h"
#include "runtime/clock.h"

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

namespace weir::produce {

// Of an idempotent producer; its header's fields.
struct SequencedBatch {
  TopicPartition partition;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = -1;
  std::int32_t base_sequence = -1;

  [[nodiscard]] bool is_idempotent() const { return producer_id >= 0 && producer_epoch >= 0; }
};

class SequenceGate {
 public:
  // What was sent before the producer heard of the failure has come by then. A producer that went
  // on through another broker may come back after it.
  static constexpr Duration kMemory = std::chrono::minutes(1);
  // Failures that are remembered; the oldest make room.
  static constexpr std::size_t kMost = 10'000;

  // It will not be committed, or it is not known whether it is.
  void on_failed(const SequencedBatch& batch, MonoTime now);
  // The state machine has judged it, for it or against it.
  void on_judged(const SequencedBatch& batch);
  // False: an earlier one is missing, and is not on its way again. Asked in the order of launching.
  [[nodiscard]] bool may_launch(const SequencedBatch& batch, MonoTime now);
  // False: an earlier one is missing, and was not submitted before. Asked in the order of
  // submitting, in which all batches of a partition are submitted as they were launched.
  [[nodiscard]] bool may_submit(const SequencedBatch& batch, MonoTime now);
  // Nothing is missing: no question need be asked.
  [[nodiscard]] bool is_open(MonoTime now);

 private:
  using Producer = std::pair<TopicPartition, ProducerId>;
  enum class Stage { kMissing, kLaunched, kSubmitted };
  // The earliest batch that failed.
  struct Missing {
    ProducerEpoch epoch = -1;
    std::int32_t sequence = -1;
    Stage stage = Stage::kMissing;
    MonoTime until;
  };

  // Of the batch's producer and epoch.
  [[nodiscard]] Missing* missing_before(const SequencedBatch& batch);
  [[nodiscard]] bool passes(const SequencedBatch& batch, Stage stage, MonoTime now);
  void forget_old(MonoTime now, std::size_t most);

  std::map<Producer, Missing> missing_;
  std::deque<std::pair<MonoTime, Producer>> by_age_;  // some have gone from missing_
};

}  // namespace weir::produce

// Keeps the batches of an idempotent producer behind one that failed. The state machine takes any
// sequence of a producer that it does not know (as Kafka does, whose producers may outlive what is
// known of them), so if a producer's first batch fails with its object and the second is committed
// with another, the first one's retry is out of order for ever. So after a batch failed here, those
// with other sequences are refused until it comes again. Bookkeeping only; single-threaded.
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
  static constexpr std::size_t kMost = 100'000;

  void on_failed(const SequencedBatch& batch, MonoTime now);
  // Whether one before it has to come first. The one that failed, and a new epoch, open the gate.
  [[nodiscard]] bool refuses(const SequencedBatch& batch, MonoTime now);
  [[nodiscard]] bool is_open(MonoTime now);

 private:
  using Producer = std::pair<TopicPartition, ProducerId>;
  struct Missing {
    ProducerEpoch epoch;
    std::int32_t sequence;
    MonoTime until;
  };

  void forget_old(MonoTime now, std::size_t most);

  std::map<Producer, Missing> missing_;
  std::deque<std::pair<MonoTime, Producer>> by_age_;  // some have gone from missing_
};

}  // namespace weir::produce

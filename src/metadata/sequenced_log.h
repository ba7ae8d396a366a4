// A log whose appends one broker of the cluster makes for all, while that works: on a log in the
// object store brokers that append at the same time compete for the next key, and what one of them
// gathers is a single PUT. Nothing depends on it: each broker may append for itself at any moment,
// and does when the one that writes for all cannot be reached, is slow, or is itself. Safety is in
// the log below, and in (broker epoch, sequence) for an entry that comes to stand twice.
// docs/adr/0014-sequencer.md has the reasons and figures.
//
// Owns the log below; carrier and clock outlive it. Thread-safe as the log below.
#pragma once
#include "metadata/append_carrier.h"
#include "metadata/coordinator.h"
#include "metadata/log/forwarding_log.h"
#include "runtime/backoff.h"
#include "runtime/metrics.h"

#include <memory>
#include <mutex>

namespace weir::metadata {

class SequencedLog final : public ForwardingLog {
 public:
  SequencedLog(std::unique_ptr<MetadataLog> inner, AppendCarrier& carrier, Clock& clock, Rng rng,
               MetricsRegistry& metrics);

  // Who writes for all; null: this broker, or that is not known.
  void follow(std::shared_ptr<const BrokerImage> sequencer);
  // Where this broker appends for others.
  [[nodiscard]] MetadataLog& inner() { return below(); }

  Task<Result<Appended>> append(Slice entry, Position known) override;

 private:
  enum class Resting { kCounts, kDoesNot };
  // Nothing: this broker shall append for itself.
  [[nodiscard]] std::shared_ptr<const BrokerImage> sequencer(Resting resting) const;
  Task<Result<Appended>> hand_over(std::shared_ptr<const BrokerImage> to, Slice entry,
                                   Position known);
  void carried(const Status& status);

  AppendCarrier& carrier_;
  Clock& clock_;
  Counter& carried_;
  Counter& refused_;
  Counter& unknown_;

  mutable std::mutex mutex_;
  std::shared_ptr<const BrokerImage> sequencer_;
  MonoTime rest_until_{};
  Backoff refused_backoff_;
  Backoff unknown_backoff_;
  Rng rng_;
};

// The broker that writes for all: of those that live, the one that has been registered for longest,
// so that brokers that come and go do not move it. Null: there is none.
[[nodiscard]] const BrokerImage* sequencer_of(const ClusterImage& cluster);

// Tells the log of broker `self` who writes for all, whenever that changes. On the coordinator's
// thread; log and coordinator outlive it.
class SequencerWatch final : public CommitListener {
 public:
  SequencerWatch(Coordinator& coordinator, BrokerId self, SequencedLog& log)
      : coordinator_(coordinator), self_(self), log_(log) {}

  void on_partitions_advanced(std::span<const TopicPartition> partitions) override {
    static_cast<void>(partitions);
  }
  void on_image_changed() override;

 private:
  Coordinator& coordinator_;
  BrokerId self_;
  SequencedLog& log_;
  BrokerEpoch followed_ = -1;
};

}  // namespace weir::metadata

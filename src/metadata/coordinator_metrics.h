// What a coordinator tells of itself: how far behind the log it is, and how many brokers it sees.
// Owned by the coordinator, on its executor.
#pragma once
#include "metadata/state/record.h"
#include "metadata/state/state.h"
#include "runtime/clock.h"
#include "runtime/metrics.h"

namespace weir::metadata {

class CoordinatorMetrics {
 public:
  CoordinatorMetrics(MetricsRegistry& registry, Clock& clock);

  // An entry of another broker was applied here. `differs`: see ClockWatch.
  void on_followed(const RecordHeader& header, bool differs);
  void on_applied(const State& state);
  void on_fenced() { fenced_.add(); }
  void on_snapshot_lost() { snapshots_lost_.add(); }

 private:
  Clock& clock_;
  Histogram& follow_time_;
  Gauge& position_;
  Gauge& brokers_;
  Counter& fenced_;
  Counter& snapshots_lost_;
  Counter& clock_differs_;
};

}  // namespace weir::metadata

#include "metadata/coordinator_metrics.h"

#include <algorithm>
#include <chrono>

namespace weir::metadata {

CoordinatorMetrics::CoordinatorMetrics(MetricsRegistry& registry, Clock& clock)
    : clock_(clock),
      follow_time_(registry.histogram(
          "weir_metadata_follow_seconds",
          "Time from an append of another broker, by its clock, until it is applied here.",
          HistogramKind::kLatency)),
      position_(registry.gauge("weir_metadata_position", "The last log entry that is applied.")),
      brokers_(registry.gauge("weir_metadata_live_brokers", "Brokers of the cluster, not fenced.")),
      fenced_(registry.counter("weir_metadata_fenced_total",
                               "How often this broker lost its registration and took a new one.")),
      snapshots_lost_(registry.counter("weir_metadata_snapshots_lost_total",
                                       "Loads of the metadata for which the latest snapshot was "
                                       "damaged or gone, so that the one "
                                       "before it or the whole log was used.")),
      clock_differs_(registry.counter(
          "weir_metadata_clock_differs_total",
          "Entries of other brokers whose time was more than a minute from this broker's clock.")) {
}

void CoordinatorMetrics::on_followed(const RecordHeader& header, bool differs) {
  if (differs) clock_differs_.add();
  follow_time_.observe(
      std::chrono::milliseconds(std::max<TimestampMs>(clock_.wall_ms() - header.time, 0)));
}

void CoordinatorMetrics::on_applied(const State& state) {
  position_.set(static_cast<std::int64_t>(state.position()));
  brokers_.set(std::ranges::count_if(state.tables().brokers,
                                     [](const auto& broker) { return !broker.second.fenced; }));
}

}  // namespace weir::metadata

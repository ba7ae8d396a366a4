// Metrics: counters, gauges and histograms with a name, a help text and labels, kept by one
// registry per process. The registry only collects; who exports them (the /metrics page, the
// generated reference) reads snapshot().
//
// A metric belongs to its registry and lives as long; components ask for theirs once, at
// construction, and keep the reference. Updates are relaxed atomics, safe from any thread and cheap
// enough for every request. The registry is thread-safe too, but takes a lock: not for hot paths.
// Names follow Prometheus: weir_<module>_<what>_<unit>, counters end in _total.
#pragma once
#include "base/units.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir {

// Each metric has its own cache line: counters that lie side by side must not slow each other.
constexpr std::size_t kCacheLine = 64;

// Only grows.
class alignas(kCacheLine) Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

// Goes up and down.
class alignas(kCacheLine) Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_ = 0;
};

// What a histogram measures. It is updated in whole nanoseconds, bytes or things, and exported in
// seconds, bytes or things.
enum class HistogramKind : std::uint8_t { kLatency, kBytes, kCount };

// Counts of values in fixed buckets that grow by powers of two (latency: 64 µs to 134 s; bytes: 64
// B to 128 MiB; count: 1 to 64 Ki).
class alignas(kCacheLine) Histogram {
 public:
  explicit Histogram(HistogramKind kind);

  void observe(std::uint64_t value);
  void observe(Duration elapsed) {
    observe(elapsed.count() > 0 ? static_cast<std::uint64_t>(elapsed.count()) : 0);
  }

  [[nodiscard]] HistogramKind kind() const { return kind_; }
  // The greatest value of each bucket, in the unit of observe(); one more bucket without a bound
  // follows.
  [[nodiscard]] static std::vector<std::uint64_t> bounds(HistogramKind kind);
  // Values per bucket (not cumulative), one more than bounds().
  [[nodiscard]] std::vector<std::uint64_t> counts() const;
  [[nodiscard]] std::uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  HistogramKind kind_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<std::uint64_t> sum_ = 0;
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

// What one metric said at one moment, in the exported unit.
struct MetricSample {
  MetricLabels labels;
  double value = 0;  // of a counter or gauge; the sum of a histogram
  std::vector<std::uint64_t>
      bucket_counts;  // of a histogram: per bucket, not cumulative; the last has no bound
};

// All metrics of one name.
struct MetricFamily {
  std::string name;
  std::string help;
  MetricType type = MetricType::kCounter;
  std::vector<double> bounds;  // of a histogram, in the exported unit
  std::vector<MetricSample> samples;
};

class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  // The metric with this name and these labels, made at the first call. All metrics of a name share
  // help, type, and names of labels; an ill-formed name or one used with another type is a bug and
  // ends the process.
  Counter& counter(const std::string& name, const std::string& help, MetricLabels labels = {});
  Gauge& gauge(const std::string& name, const std::string& help, MetricLabels labels = {});
  Histogram& histogram(const std::string& name, const std::string& help, HistogramKind kind,
                       MetricLabels labels = {});

  // When what the gauges tell of has ended.
  void zero_gauges();

  // Every metric, ordered by name and labels. Values that change meanwhile may be of slightly
  // different moments.
  [[nodiscard]] std::vector<MetricFamily> snapshot() const;

 private:
  struct Family;

  Family& family(const std::string& name, const std::string& help, MetricType type,
                 const MetricLabels& labels);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>> families_;
};

}  // namespace weir

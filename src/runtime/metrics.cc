#include "runtime/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <variant>

namespace weir {
namespace {

// Buckets end at 2^first_bit, 2^(first_bit + 1), … 2^last_bit.
struct BucketRange {
  int first_bit;
  int last_bit;
};

BucketRange bucket_range(HistogramKind kind) {
  switch (kind) {
    case HistogramKind::kLatency:
      return {16, 37};
    case HistogramKind::kBytes:
      return {6, 27};
    case HistogramKind::kCount:
      return {0, 16};
  }
  return {0, 0};
}

double exported(HistogramKind kind, std::uint64_t value) {
  constexpr double kNanosPerSecond = 1e9;
  auto plain = static_cast<double>(value);
  return kind == HistogramKind::kLatency ? plain / kNanosPerSecond : plain;
}

[[noreturn]] void misuse(const std::string& name, std::string_view what) {
  fmt::print(stderr, "fatal: metric '{}' {}\n", name, what);
  std::abort();
}

bool is_name(const std::string& name) {
  auto fine = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && std::ranges::all_of(name, fine) && (name[0] < '0' || name[0] > '9');
}

}  // namespace

Histogram::Histogram(HistogramKind kind)
    : kind_(kind),
      counts_(static_cast<std::size_t>(bucket_range(kind).last_bit - bucket_range(kind).first_bit +
                                       2)) {}

void Histogram::observe(std::uint64_t value) {
  // The number of bits of value - 1 is the power of two at or above value.
  int bit = value == 0 ? 0 : std::bit_width(value - 1);
  auto [first, last] = bucket_range(kind_);
  auto index = static_cast<std::size_t>(std::clamp(bit, first, last + 1) - first);
  counts_[index].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<std::uint64_t> Histogram::bounds(HistogramKind kind) {
  std::vector<std::uint64_t> out;
  auto [first, last] = bucket_range(kind);
  for (int bit = first; bit <= last; ++bit) out.push_back(1ULL << bit);
  return out;
}

std::vector<std::uint64_t> Histogram::counts() const {
  std::vector<std::uint64_t> out;
  out.reserve(counts_.size());
  for (const auto& count : counts_) out.push_back(count.load(std::memory_order_relaxed));
  return out;
}

struct MetricsRegistry::Family {
  using Metric =
      std::variant<std::unique_ptr<Counter>, std::unique_ptr<Gauge>, std::unique_ptr<Histogram>>;

  // The metric with these labels; `make` is called for a new one.
  template <typename T, typename Make>
  T& get(MetricLabels labels, Make make) {
    auto at = metrics.find(labels);
    if (at == metrics.end()) at = metrics.emplace(std::move(labels), make()).first;
    return *std::get<std::unique_ptr<T>>(at->second);
  }

  std::string help;
  MetricType type;
  std::vector<std::string> label_names;
  std::map<MetricLabels, Metric> metrics;
};

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() = default;

MetricsRegistry::Family& MetricsRegistry::family(const std::string& name, const std::string& help,
                                                 MetricType type, const MetricLabels& labels) {
  std::vector<std::string> label_names;
  for (const auto& [label, value] : labels) {
    if (!is_name(label)) misuse(name, fmt::format("has an ill-formed label '{}'", label));
    label_names.push_back(label);
  }
  auto& slot = families_[name];
  if (!slot) {
    if (!is_name(name)) misuse(name, "is not made of [a-z0-9_]");
    slot = std::make_unique<Family>(Family{help, type, label_names, {}});
  }
  if (slot->type != type) misuse(name, "is used with two types");
  if (slot->help != help) misuse(name, "is used with two help texts");
  if (slot->label_names != label_names) misuse(name, "is used with different labels");
  return *slot;
}

Counter& MetricsRegistry::counter(const std::string& name, const std::string& help,
                                  MetricLabels labels) {
  std::lock_guard lock(mutex_);
  return family(name, help, MetricType::kCounter, labels).get<Counter>(std::move(labels), [] {
    return std::make_unique<Counter>();
  });
}

Gauge& MetricsRegistry::gauge(const std::string& name, const std::string& help,
                              MetricLabels labels) {
  std::lock_guard lock(mutex_);
  return family(name, help, MetricType::kGauge, labels).get<Gauge>(std::move(labels), [] {
    return std::make_unique<Gauge>();
  });
}

void MetricsRegistry::zero_gauges() {
  std::lock_guard lock(mutex_);
  for (auto& [name, family] : families_) {
    for (auto& [labels, metric] : family->metrics) {
      if (auto* gauge = std::get_if<std::unique_ptr<Gauge>>(&metric)) (*gauge)->set(0);
    }
  }
}

Histogram& MetricsRegistry::histogram(const std::string& name, const std::string& help,
                                      HistogramKind kind, MetricLabels labels) {
  std::lock_guard lock(mutex_);
  Family& all = family(name, help, MetricType::kHistogram, labels);
  auto& out =
      all.get<Histogram>(std::move(labels), [kind] { return std::make_unique<Histogram>(kind); });
  auto& first = std::get<std::unique_ptr<Histogram>>(all.metrics.begin()->second);
  if (out.kind() != kind || first->kind() != kind)
    misuse(name, "is used with two kinds of histogram");
  return out;
}

std::vector<MetricFamily> MetricsRegistry::snapshot() const {
  std::lock_guard lock(mutex_);
  std::vector<MetricFamily> out;
  for (const auto& [name, family] : families_) {
    MetricFamily& to = out.emplace_back(MetricFamily{name, family->help, family->type, {}, {}});
    for (const auto& [labels, metric] : family->metrics) {
      MetricSample& sample = to.samples.emplace_back(MetricSample{labels, 0, {}});
      if (const auto* counter = std::get_if<std::unique_ptr<Counter>>(&metric)) {
        sample.value = static_cast<double>((*counter)->value());
      } else if (const auto* gauge = std::get_if<std::unique_ptr<Gauge>>(&metric)) {
        sample.value = static_cast<double>((*gauge)->value());
      } else {
        const Histogram& histogram = *std::get<std::unique_ptr<Histogram>>(metric);
        sample.value = exported(histogram.kind(), histogram.sum());
        sample.bucket_counts = histogram.counts();
        if (!to.bounds.empty()) continue;
        for (std::uint64_t bound : Histogram::bounds(histogram.kind()))
          to.bounds.push_back(exported(histogram.kind(), bound));
      }
    }
  }
  return out;
}

}  // namespace weir

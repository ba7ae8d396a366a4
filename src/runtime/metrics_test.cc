#include "runtime/metrics.h"

#include <gtest/gtest.h>

#include <thread>

namespace weir {
namespace {

TEST(Metrics, SnapshotIsOrderedAndComplete) {
  MetricsRegistry registry;
  registry.gauge("weir_b", "Second.").set(-5);
  registry.counter("weir_a_total", "First.", {{"operation", "put"}}).add(3);
  registry.counter("weir_a_total", "First.", {{"operation", "get"}}).add();
  auto families = registry.snapshot();
  ASSERT_EQ(families.size(), 2U);
  EXPECT_EQ(families[0].name, "weir_a_total");
  EXPECT_EQ(families[0].help, "First.");
  EXPECT_EQ(families[0].type, MetricType::kCounter);
  ASSERT_EQ(families[0].samples.size(), 2U);
  EXPECT_EQ(families[0].samples[0].labels, (MetricLabels{{"operation", "get"}}));
  EXPECT_EQ(families[0].samples[0].value, 1);
  EXPECT_EQ(families[0].samples[1].value, 3);
  EXPECT_EQ(families[1].type, MetricType::kGauge);
  EXPECT_EQ(families[1].samples[0].value, -5);
}

TEST(Metrics, GaugesAloneAreZeroed) {
  MetricsRegistry registry;
  registry.gauge("weir_b", "Second.", {{"k", "v"}}).set(-5);
  registry.counter("weir_a_total", "First.").add(3);
  registry.zero_gauges();
  auto families = registry.snapshot();
  EXPECT_EQ(families[0].samples[0].value, 3);
  EXPECT_EQ(families[1].samples[0].value, 0);
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameMetric) {
  MetricsRegistry registry;
  Counter& one = registry.counter("weir_a_total", "First.", {{"k", "v"}});
  EXPECT_EQ(&registry.counter("weir_a_total", "First.", {{"k", "v"}}), &one);
  EXPECT_NE(&registry.counter("weir_a_total", "First.", {{"k", "w"}}), &one);
}

TEST(Metrics, HistogramBucketsIncludeTheirBound) {
  MetricsRegistry registry;
  Histogram& bytes = registry.histogram("weir_size_bytes", "Sizes.", HistogramKind::kBytes);
  for (std::uint64_t value : {0, 64, 65, 128, 129}) bytes.observe(value);
  bytes.observe(128_MiB);
  bytes.observe(128_MiB + 1);
  MetricFamily family = registry.snapshot().at(0);
  ASSERT_EQ(family.bounds.size(), 22U);
  EXPECT_EQ(family.bounds.front(), 64);
  EXPECT_EQ(family.bounds.back(), 128.0 * 1024 * 1024);
  std::vector<std::uint64_t> expected(23, 0);
  expected[0] = 2;   // 0 and 64
  expected[1] = 2;   // 65 and 128
  expected[2] = 1;   // 129
  expected[21] = 1;  // 128 MiB
  expected[22] = 1;  // above every bound
  EXPECT_EQ(family.samples[0].bucket_counts, expected);
  EXPECT_EQ(family.samples[0].value, 64 + 65 + 128 + 129 + 2 * 128.0 * 1024 * 1024 + 1);
}

TEST(Metrics, LatencyIsExportedInSeconds) {
  MetricsRegistry registry;
  Histogram& latency = registry.histogram("weir_put_seconds", "Puts.", HistogramKind::kLatency);
  latency.observe(std::chrono::milliseconds(1500));
  latency.observe(Duration(-1));  // a clock that stepped back counts as no time
  MetricFamily family = registry.snapshot().at(0);
  EXPECT_DOUBLE_EQ(family.samples[0].value, 1.5);
  EXPECT_DOUBLE_EQ(family.bounds.front(), 65536e-9);
  EXPECT_EQ(family.samples[0].bucket_counts[0], 1U);
  // 2^30 ns < 1.5 s <= 2^31 ns
  EXPECT_EQ(family.samples[0].bucket_counts[31 - 16], 1U);
}

TEST(Metrics, CountsFromSeveralThreadsAddUp) {
  MetricsRegistry registry;
  Counter& counter = registry.counter("weir_a_total", "First.");
  Histogram& sizes = registry.histogram("weir_b", "Second.", HistogramKind::kCount);
  auto work = [&] {
    for (int i = 0; i < 1000; ++i) {
      counter.add(2);
      sizes.observe(std::uint64_t{7});
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), 6000U);
  EXPECT_EQ(sizes.counts()[3], 3000U);
  EXPECT_EQ(sizes.sum(), 21000U);
}

TEST(MetricsDeathTest, MisuseEndsTheProcess) {
  MetricsRegistry registry;
  registry.counter("weir_a_total", "First.", {{"k", "v"}});
  EXPECT_DEATH(registry.gauge("weir_a_total", "First.", {{"k", "v"}}), "two types");
  EXPECT_DEATH(registry.counter("weir_a_total", "First.", {{"j", "v"}}), "different labels");
  EXPECT_DEATH(registry.counter("Weir-b", "Second."), "not made of");
}

}  // namespace
}  // namespace weir

// Expected texts follow the exposition format's specification.
#include "net/prometheus.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

TEST(Prometheus, WritesCountersAndGaugesByName) {
  MetricsRegistry registry;
  registry.gauge("weir_b_bytes", "A gauge.").set(-5);
  registry.counter("weir_a_total", "Lines.", {{"kind", "x"}}).add(3);
  registry.counter("weir_a_total", "Lines.", {{"kind", "y"}}).add(1'000'000'000);
  EXPECT_EQ(prometheus_text(registry),
            "# HELP weir_a_total Lines.\n"
            "# TYPE weir_a_total counter\n"
            "weir_a_total{kind=\"x\"} 3\n"
            "weir_a_total{kind=\"y\"} 1000000000\n"
            "# HELP weir_b_bytes A gauge.\n"
            "# TYPE weir_b_bytes gauge\n"
            "weir_b_bytes -5\n");
}

TEST(Prometheus, EscapesLabelsAndHelp) {
  MetricsRegistry registry;
  registry.gauge("weir_g", "Back\\slash, \"quote\"\nand line.", {{"l", "a\\b\"c\nd"}});
  EXPECT_EQ(prometheus_text(registry),
            "# HELP weir_g Back\\\\slash, \"quote\"\\nand line.\n"
            "# TYPE weir_g gauge\n"
            "weir_g{l=\"a\\\\b\\\"c\\nd\"} 0\n");
}

TEST(Prometheus, HistogramBucketsAreCumulative) {
  MetricsRegistry registry;
  Histogram& sizes =
      registry.histogram("weir_size_bytes", "Sizes.", HistogramKind::kBytes, {{"op", "put"}});
  sizes.observe(std::uint64_t{64});
  sizes.observe(std::uint64_t{65});
  sizes.observe(std::uint64_t{1} << 40);
  std::string text = prometheus_text(registry);
  EXPECT_TRUE(
      text.starts_with("# HELP weir_size_bytes Sizes.\n"
                       "# TYPE weir_size_bytes histogram\n"
                       "weir_size_bytes_bucket{op=\"put\",le=\"64\"} 1\n"
                       "weir_size_bytes_bucket{op=\"put\",le=\"128\"} 2\n"
                       "weir_size_bytes_bucket{op=\"put\",le=\"256\"} 2\n"))
      << text;
  EXPECT_TRUE(
      text.ends_with("weir_size_bytes_bucket{op=\"put\",le=\"134217728\"} 2\n"
                     "weir_size_bytes_bucket{op=\"put\",le=\"+Inf\"} 3\n"
                     "weir_size_bytes_sum{op=\"put\"} 1099511627905\n"
                     "weir_size_bytes_count{op=\"put\"} 3\n"))
      << text;
}

TEST(Prometheus, LatenciesAreInSeconds) {
  MetricsRegistry registry;
  registry.histogram("weir_t_seconds", "Times.", HistogramKind::kLatency)
      .observe(std::chrono::milliseconds(250));
  std::string text = prometheus_text(registry);
  EXPECT_TRUE(text.contains("weir_t_seconds_bucket{le=\"6.5536e-05\"} 0\n")) << text;
  EXPECT_TRUE(text.contains("weir_t_seconds_sum 0.25\nweir_t_seconds_count 1\n")) << text;
}

}  // namespace
}  // namespace weir::net

#include "runtime/latency_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weir {
namespace {

using std::chrono::milliseconds;

TEST(LatencyModelTest, HasTheMedianAndThe99thPercentileThatWereAsked) {
  LatencyModel model({.p50 = milliseconds(100), .p99 = milliseconds(300)}, Rng(1));
  std::vector<double> drawn;
  for (int i = 0; i < 100'000; ++i) {
    drawn.push_back(std::chrono::duration<double, std::milli>(model.draw()).count());
  }
  std::ranges::sort(drawn);
  EXPECT_NEAR(drawn[50'000], 100, 2);
  EXPECT_NEAR(drawn[99'000], 300, 12);
}

TEST(LatencyModelTest, ASeedReplays) {
  const LatencyQuantiles quantiles{.p50 = milliseconds(10), .p99 = milliseconds(35)};
  LatencyModel one(quantiles, Rng(7));
  LatencyModel two(quantiles, Rng(7));
  LatencyModel other(quantiles, Rng(8));
  EXPECT_EQ(one.draw(), two.draw());
  EXPECT_NE(one.draw(), other.draw());
}

TEST(LatencyModelTest, WithoutAMedianThereIsNoDelay) {
  LatencyModel model({}, Rng(1));
  EXPECT_EQ(model.draw(), Duration::zero());
}

}  // namespace
}  // namespace weir

#include "config/latency.h"

#include <gtest/gtest.h>

namespace weir::config {
namespace {

using std::chrono::milliseconds;

TEST(LatencyConfigTest, ReadsWhatIsNamed) {
  const auto config = parse_latency("put=100/300,append=10/35,seed=7");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->put.p50, milliseconds(100));
  EXPECT_EQ(config->put.p99, milliseconds(300));
  EXPECT_EQ(config->get.p50, Duration::zero());
  EXPECT_EQ(config->append.p99, milliseconds(35));
  EXPECT_EQ(config->seed, 7U);
}

TEST(LatencyConfigTest, NothingIsNoDelay) {
  const auto config = parse_latency("");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->put.p50, Duration::zero());
}

TEST(LatencyConfigTest, NamesThePartThatIsWrong) {
  for (const char* part : {"put", "put=1", "put=2/1", "put=0/1", "put=1/2/3", "put=-1/2",
                           "head=1/2", "seed=x", "put=1/60001", "put=99999999999/99999999999"}) {
    const auto config = parse_latency(std::string("get=1/2,") + part);
    ASSERT_FALSE(config) << part;
    EXPECT_NE(config.error().message.find(std::string("'") + part + "'"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::config

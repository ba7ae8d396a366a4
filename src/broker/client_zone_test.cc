#include "broker/client_zone.h"

#include <gtest/gtest.h>

namespace weir::broker {
namespace {

TEST(ClientZone, StandsInTheClientId) {
  EXPECT_EQ(zone_in_client_id("zone=a"), "a");
  EXPECT_EQ(zone_in_client_id("orders-7,zone=use1-az1"), "use1-az1");
  EXPECT_EQ(zone_in_client_id("orders;diskless_az=b;x=y"), "b");
  EXPECT_EQ(zone_in_client_id("orders ws_az=c"), "c");
  EXPECT_EQ(zone_in_client_id("zone=,zone=d"), "d");
}

TEST(ClientZone, AnythingElseIsAName) {
  for (std::string_view id : {"", "zone", "orders", "my-zone=a", "zones=a", "ZONE=a", "zone=a/b",
                              "zone==a", "a,,;; b", "azone=b"}) {
    EXPECT_EQ(zone_in_client_id(id), "") << id;
  }
}

TEST(ClientZone, TheNearestHintDecides) {
  auto rules = config::parse_zone_rules({"EAST=by-listener"}, {"10.0.0.0/8=by-address"},
                                        {{.name = "EAST"}, {.name = "WEST"}});
  ASSERT_TRUE(rules);
  ClientHints hints{.rack = "by-rack",
                    .client_id = "orders,zone=by-id",
                    .listener = "EAST",
                    .address = "10.1.2.3"};
  EXPECT_EQ(zone_of_client(*rules, hints), "by-rack");
  hints.rack = "";
  EXPECT_EQ(zone_of_client(*rules, hints), "by-id");
  hints.client_id = "orders";
  EXPECT_EQ(zone_of_client(*rules, hints), "by-listener");
  hints.listener = "WEST";
  EXPECT_EQ(zone_of_client(*rules, hints), "by-address");
  hints.address = "192.168.0.1";
  EXPECT_EQ(zone_of_client(*rules, hints), "");
}

}  // namespace
}  // namespace weir::broker

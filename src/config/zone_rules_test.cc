#include "config/zone_rules.h"

#include <gtest/gtest.h>

namespace weir::config {
namespace {

const std::vector<Listener> kListeners = {{.name = "PLAINTEXT"}, {.name = "ZONE_A"}};

Result<ZoneRules> parse(const List& listeners, const List& cidrs) {
  return parse_zone_rules(listeners, cidrs, kListeners);
}

std::string error_of(const List& listeners, const List& cidrs) {
  auto rules = parse(listeners, cidrs);
  return rules ? "none" : rules.error().message;
}

TEST(ZoneRules, TheNarrowestNetworkDecides) {
  auto rules = parse({}, {"10.0.0.0/8=wide", "10.1.0.0/16=a", "10.1.2.128/25=b", "0.0.0.0/0=rest",
                          "2001:db8::/32=six", "2001:db8:0:8000::/49=half"});
  ASSERT_TRUE(rules);
  EXPECT_EQ(zone_of_address(*rules, "10.9.9.9"), "wide");
  EXPECT_EQ(zone_of_address(*rules, "10.1.2.127"), "a");
  EXPECT_EQ(zone_of_address(*rules, "10.1.2.128"), "b");
  EXPECT_EQ(zone_of_address(*rules, "192.168.0.1"), "rest");
  EXPECT_EQ(zone_of_address(*rules, "2001:db8:0:1::7"), "six");
  EXPECT_EQ(zone_of_address(*rules, "2001:db8:0:8001::7"), "half");
  EXPECT_EQ(zone_of_address(*rules, "2001:db9::1"), "");
  EXPECT_EQ(zone_of_address(*rules, "::ffff:10.1.2.3"), "a");
  EXPECT_EQ(zone_of_address(*rules, "somewhere"), "");
  EXPECT_EQ(zone_of_address(*rules, ""), "");
}

TEST(ZoneRules, WithoutRulesNobodyHasAZone) {
  auto rules = parse({}, {});
  ASSERT_TRUE(rules);
  EXPECT_EQ(zone_of_address(*rules, "10.1.2.3"), "");
}

TEST(ZoneRules, ListenersHaveZones) {
  auto rules = parse({"zone_a = use1-az1"}, {});
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->by_listener.at("ZONE_A"), "use1-az1");
}

TEST(ZoneRules, SaysWhatIsWrong) {
  EXPECT_EQ(
      error_of({"EXTERNAL=a"}, {}),
      "zone.listeners: EXTERNAL=a: there is no listener EXTERNAL; there is PLAINTEXT, ZONE_A");
  EXPECT_EQ(error_of({"ZONE_A=a", "zone_a=b"}, {}),
            "zone.listeners: the listener ZONE_A is there twice");
  EXPECT_EQ(error_of({"ZONE_A"}, {}), "zone.listeners: ZONE_A must be LISTENER=ZONE");
  EXPECT_NE(error_of({"ZONE_A="}, {}).find("the zone must be made of"), std::string::npos);
  EXPECT_NE(error_of({"ZONE_A=a b"}, {}).find("the zone must be made of"), std::string::npos);
  EXPECT_EQ(error_of({}, {"10.1.0.0=a"}),
            "zone.cidrs: 10.1.0.0=a must be ADDRESS/BITS=ZONE, for example 10.1.0.0/16=a");
  EXPECT_EQ(error_of({}, {"10.1.0/16=a"}),
            "zone.cidrs: 10.1.0/16=a: 10.1.0 is no IPv4 or IPv6 address");
  EXPECT_EQ(error_of({}, {"10.1.0.0/33=a"}),
            "zone.cidrs: 10.1.0.0/33=a: the bits must be from 0 to 32, not 33");
  EXPECT_EQ(error_of({}, {"2001:db8::/1x=a"}),
            "zone.cidrs: 2001:db8::/1x=a: the bits must be from 0 to 128, not 1x");
  EXPECT_EQ(error_of({}, {"10.1.2.3/16=a"}),
            "zone.cidrs: 10.1.2.3/16=a: the address has bits behind the first 16; that network is "
            "10.1.0.0/16");
  EXPECT_EQ(error_of({}, {"10.1.0.0/16=a", "10.1.0.0/16=b"}),
            "zone.cidrs: 10.1.0.0/16 is there twice");
}

}  // namespace
}  // namespace weir::config

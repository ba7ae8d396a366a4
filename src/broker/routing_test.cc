#include "broker/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace weir::broker {
namespace {

using metadata::ClusterImage;
using metadata::TopicImage;

const std::string kListener = "PLAINTEXT";

void add(ClusterImage& image, BrokerId id, std::string rack, std::string listener = kListener) {
  image.brokers[id] = {
      .id = id, .endpoints = {{listener, "host", 9092, "PLAINTEXT"}}, .rack = std::move(rack)};
}

TopicImage topic(std::size_t partitions, std::uint64_t id = 7) {
  return {.id = {1, id},
          .name = "t",
          .partitions = std::vector<std::shared_ptr<metadata::PartitionCell>>(partitions)};
}

// Two brokers in each of three zones.
ClusterImage three_zones() {
  ClusterImage image;
  for (BrokerId id = 1; id <= 6; ++id) add(image, id, std::string(1, "abc"[(id - 1) % 3]));
  return image;
}

std::string zone_of(const ClusterImage& image, BrokerId id) { return image.brokers.at(id).rack; }

TEST(Routing, LeadersAreOfTheClientsZone) {
  ClusterImage image = three_zones();
  for (std::string zone : {"a", "b", "c"}) {
    Routing routing(image, kListener, zone);
    EXPECT_TRUE(routing.has_zone());
    std::set<BrokerId> used;
    for (const Placement& placement : routing.place(topic(20))) {
      EXPECT_EQ(zone_of(image, placement.leader), zone);
      used.insert(placement.leader);
    }
    EXPECT_EQ(used.size(), 2U);
  }
}

TEST(Routing, ReplicasAreTheLeaderAndOneOfEveryOtherZone) {
  ClusterImage image = three_zones();
  for (std::string zone : {"a", "", "nowhere"}) {
    for (const Placement& placement : Routing(image, kListener, zone).place(topic(20))) {
      ASSERT_EQ(placement.replicas.size(), 3U);
      EXPECT_EQ(placement.replicas.front(), placement.leader);
      std::set<std::string> zones;
      for (BrokerId id : placement.replicas) zones.insert(zone_of(image, id));
      EXPECT_EQ(zones.size(), 3U);
    }
  }
}

TEST(Routing, TheReplicaOfAZoneLeadsThere) {
  ClusterImage image = three_zones();
  auto from_a = Routing(image, kListener, "a").place(topic(20));
  auto from_b = Routing(image, kListener, "b").leaders(topic(20));
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_NE(std::ranges::find(from_a[i].replicas, from_b[i]), from_a[i].replicas.end());
}

TEST(Routing, AnUnknownZoneIsServedByAll) {
  ClusterImage image = three_zones();
  for (std::string zone : {"", "nowhere"}) {
    Routing routing(image, kListener, zone);
    EXPECT_FALSE(routing.has_zone());
    auto leaders = routing.leaders(topic(60));
    EXPECT_EQ(std::set<BrokerId>(leaders.begin(), leaders.end()).size(), 6U);
  }
}

TEST(Routing, WhoHasNotTheListenerIsNotNamed) {
  ClusterImage image;
  add(image, 1, "a");
  add(image, 2, "a", "INTERNAL");
  add(image, 3, "b", "INTERNAL");
  Routing routing(image, kListener, "b");
  EXPECT_FALSE(routing.has_zone());
  for (const Placement& placement : routing.place(topic(5)))
    EXPECT_EQ(placement.replicas, std::vector<BrokerId>{1});
  EXPECT_FALSE(Routing(image, "EXTERNAL", "a").has_brokers());
  EXPECT_TRUE(Routing(image, "EXTERNAL", "a").place(topic(5)).empty());
}

TEST(Routing, AnotherZonesBrokerChangesNoLeaderHere) {
  ClusterImage image = three_zones();
  auto before = Routing(image, kListener, "a").leaders(topic(50));
  add(image, 9, "b");
  EXPECT_EQ(Routing(image, kListener, "a").leaders(topic(50)), before);
}

TEST(Routing, MorePartitionsAndOtherTopicsMoveNothing) {
  ClusterImage image = three_zones();
  Routing routing(image, kListener, "a");
  auto few = routing.leaders(topic(10));
  auto many = routing.leaders(topic(100));
  EXPECT_TRUE(std::ranges::equal(few, std::span(many).first(10)));
  EXPECT_NE(routing.leaders(topic(100, 8)), many);
}

}  // namespace
}  // namespace weir::broker

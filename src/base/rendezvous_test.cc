#include "base/rendezvous.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

namespace weir {
namespace {

std::vector<std::int32_t> nodes_up_to(std::int32_t count) {
  std::vector<std::int32_t> nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 1);
  return nodes;
}

std::vector<std::int32_t> without(std::vector<std::int32_t> nodes, std::int32_t gone) {
  std::erase(nodes, gone);
  return nodes;
}

// Computed apart from this code: a script of ours with the published constants of SplitMix64.
TEST(Rendezvous, TheHashesStay) {
  EXPECT_EQ(rendezvous_key("group-1"), 0x73d2f68ef9834aaeU);
  EXPECT_EQ(rendezvous_key(Uuid{1, 2}), 0xbcd9dbb49673066bU);
  EXPECT_EQ(rendezvous_owner(rendezvous_key("group-1"), nodes_up_to(5)), 1);
  EXPECT_EQ(rendezvous_spread(rendezvous_key(Uuid{1, 2}), 8, nodes_up_to(3)),
            (std::vector<std::int32_t>{1, 3, 3, 2, 3, 1, 2, 3}));
}

TEST(Rendezvous, OwnersAreEvenAndDoNotDependOnTheOrder) {
  std::map<std::int32_t, int> owned;
  auto nodes = nodes_up_to(5);
  auto reversed = nodes;
  std::ranges::reverse(reversed);
  for (int i = 0; i < 5000; ++i) {
    auto key = rendezvous_key("group-" + std::to_string(i));
    auto owner = rendezvous_owner(key, nodes);
    EXPECT_EQ(owner, rendezvous_owner(key, reversed));
    ++owned[*owner];
  }
  for (std::int32_t node : nodes) {
    EXPECT_GT(owned[node], 880);
    EXPECT_LT(owned[node], 1120);
  }
}

TEST(Rendezvous, OnlyWhatANodeOwnedChangesHands) {
  auto nodes = nodes_up_to(5);
  for (int i = 0; i < 1000; ++i) {
    auto key = rendezvous_key("group-" + std::to_string(i));
    auto before = rendezvous_owner(key, nodes);
    auto after = rendezvous_owner(key, without(nodes, 3));
    if (before != 3) {
      EXPECT_EQ(before, after);
    }
  }
}

TEST(Rendezvous, WithoutNodesThereIsNoOwner) {
  EXPECT_EQ(rendezvous_owner(7, {}), std::nullopt);
  EXPECT_TRUE(rendezvous_spread(7, 3, {}).empty());
  EXPECT_EQ(rendezvous_spread(7, 3, nodes_up_to(1)), (std::vector<std::int32_t>{1, 1, 1}));
}

TEST(Rendezvous, ASpreadIsBalanced) {
  for (std::size_t parts : {3U, 6U, 12U, 100U, 1000U}) {
    for (std::int32_t count : {2, 3, 6, 10}) {
      auto nodes = nodes_up_to(count);
      for (std::uint64_t key = 0; key < 20; ++key) {
        auto owners = rendezvous_spread(key * 7919, parts, nodes);
        ASSERT_EQ(owners.size(), parts);
        double share = 1.25 * static_cast<double>(parts) / count;
        for (std::int32_t node : nodes) {
          EXPECT_LE(static_cast<double>(std::ranges::count(owners, node)), share + 1);
        }
      }
    }
  }
}

TEST(Rendezvous, MorePartsDoNotMoveThoseBefore) {
  auto nodes = nodes_up_to(4);
  auto few = rendezvous_spread(11, 10, nodes);
  auto many = rendezvous_spread(11, 100, nodes);
  EXPECT_TRUE(std::ranges::equal(few, std::span(many).first(10)));
}

TEST(Rendezvous, FewPartsMoveWhenANodeGoes) {
  auto nodes = nodes_up_to(10);
  std::size_t moved = 0;
  for (std::uint64_t key = 0; key < 20; ++key) {
    auto before = rendezvous_spread(key * 104729, 1000, nodes);
    auto after = rendezvous_spread(key * 104729, 1000, without(nodes, 4));
    for (std::size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i] ? 1 : 0;
  }
  // A tenth has to; the bound of the load moves a few more.
  EXPECT_GT(moved, 20U * 80);
  EXPECT_LT(moved, 20U * 150);
}

}  // namespace
}  // namespace weir

#include "metadata/state/cow_map.h"

#include "runtime/rng.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

namespace weir::metadata {
namespace {

template <typename Map>
std::map<int, int> content(const Map& map) {
  std::map<int, int> out;
  int last = -1;
  map.for_each([&](int key, int value) {
    EXPECT_LT(last, key);
    last = key;
    out[key] = value;
  });
  EXPECT_EQ(out.size(), map.size());
  return out;
}

TEST(CowMap, ACopyKeepsItsContent) {
  CowMap<int, int, 4> map;
  for (int i = 0; i < 20; ++i) map.at_for_write(i) = i;
  CowMap<int, int, 4> copy = map;
  EXPECT_TRUE(copy.same_as(map));
  *map.find_for_write(3) = 33;
  map.erase(4);
  map.at_for_write(100) = 100;
  EXPECT_FALSE(copy.same_as(map));
  EXPECT_EQ(*copy.find(3), 3);
  EXPECT_EQ(*copy.find(4), 4);
  EXPECT_EQ(copy.find(100), nullptr);
  EXPECT_EQ(*map.find(3), 33);
  EXPECT_EQ(map.find(4), nullptr);
}

TEST(CowMap, FindsByAnythingThatCompares) {
  CowMap<std::string, int> map;
  map.at_for_write("orders") = 1;
  EXPECT_NE(map.find(std::string_view("orders")), nullptr);
  EXPECT_EQ(map.find(std::string_view("order")), nullptr);
}

TEST(CowMap, AgreesWithStdMapUnderRandomUse) {
  Rng rng(7);
  CowMap<int, int, 4> map;
  std::map<int, int> model;
  std::vector<std::pair<CowMap<int, int, 4>, std::map<int, int>>> copies;
  for (int step = 0; step < 6000; ++step) {
    int key = static_cast<int>(rng.below(step % 2000 < 1000 ? 300 : 60));
    switch (rng.below(5)) {
      case 0:
      case 1:
        map.at_for_write(key) = step;
        model[key] = step;
        break;
      case 2:
      case 3:
        ASSERT_EQ(map.erase(key), model.erase(key) == 1);
        break;
      default: {
        const int* found = map.find(key);
        ASSERT_EQ(found != nullptr, model.contains(key));
        if (found != nullptr) ASSERT_EQ(*found, model[key]);
      }
    }
    if (step % 500 == 0) copies.emplace_back(map, model);
    if (step % 97 != 0) continue;
    ASSERT_EQ(content(map), model);
    std::vector<int> from;
    map.for_each_from(key, [&](int k, int) { return from.push_back(k), from.size() < 5; });
    std::vector<int> expected;
    for (auto at = model.lower_bound(key); at != model.end() && expected.size() < 5; ++at) {
      expected.push_back(at->first);
    }
    ASSERT_EQ(from, expected);
  }
  for (auto& [copy, expected] : copies) EXPECT_EQ(content(copy), expected);
}

TEST(CowMap, GrowingKeysFillTheirBlocks) {
  CowMap<int, int, 4> map;
  for (int i = 0; i < 1000; ++i) map.at_for_write(i) = i;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(map.erase(i));
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(1), nullptr);
  map.at_for_write(5) = 6;
  EXPECT_EQ(*map.find(5), 6);
}

}  // namespace
}  // namespace weir::metadata

#include "base/planted.h"

#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

#ifndef WEIR_PLANTED_BUGS
// A constant: the compiler leaves out what depends on it.
static_assert(!planted(Bug::kOffsetGivenTwice));
static_assert(!planted(Bug::kNone));
#endif

TEST(PlantedTest, EachBugHasANameOfItsOwn) {
  std::set<Bug> bugs;
  std::set<std::string_view> names;
  for (const PlantedBug& planted : planted_bugs()) {
    EXPECT_NE(planted.bug, Bug::kNone);
    EXPECT_FALSE(planted.what.empty());
    EXPECT_TRUE(bugs.insert(planted.bug).second) << planted.name;
    EXPECT_TRUE(names.insert(planted.name).second) << planted.name;
  }
  EXPECT_GE(bugs.size(), 20U);
  // Between kNone and kEnd.
  EXPECT_EQ(bugs.size() + 1, static_cast<std::size_t>(Bug::kEnd));
}

}  // namespace
}  // namespace weir

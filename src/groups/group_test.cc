#include "groups/group.h"

#include <gtest/gtest.h>

namespace weir::groups {
namespace {

std::vector<MemberProtocol> protocols(const std::vector<std::string>& names) {
  std::vector<MemberProtocol> out;
  for (const std::string& name : names) out.push_back({.name = name, .metadata = {}});
  return out;
}

Member& add(Group& group, const std::string& id, const std::vector<std::string>& names) {
  Member member;
  member.id = id;
  member.protocols = protocols(names);
  return group.add(std::move(member), "consumer");
}

bool supports(const Group& group, const std::vector<std::string>& names,
              std::string_view except = "") {
  return group.supports("consumer", protocols(names), except);
}

TEST(Group, AMemberNeedsAProtocolThatAllOthersHave) {
  Group group("g");
  EXPECT_TRUE(supports(group, {"x"}));
  add(group, "a", {"range", "sticky"});
  add(group, "b", {"sticky", "robin"});
  EXPECT_TRUE(supports(group, {"x", "sticky"}));
  EXPECT_FALSE(supports(group, {"range", "robin"}));
  // Without the member that asks, the others count.
  EXPECT_TRUE(supports(group, {"range"}, "b"));
  EXPECT_FALSE(supports(group, {"range"}, "a"));
}

TEST(Group, AProtocolThatAMemberNamesTwiceCountsOnce) {
  Group group("g");
  add(group, "a", {"range", "range"});
  EXPECT_TRUE(supports(group, {"range"}));
  EXPECT_EQ(group.choose_protocol(), "range");
  group.remove("a");
  add(group, "b", {"sticky"});
  EXPECT_FALSE(supports(group, {"range"}));
}

TEST(Group, TheProtocolThatMostPreferOfThoseThatAllHaveIsChosen) {
  Group group("g");
  add(group, "a", {"x", "range", "sticky"});
  add(group, "b", {"sticky", "range"});
  Member& c = add(group, "c", {"sticky", "range"});
  EXPECT_EQ(group.choose_protocol(), "sticky");
  group.set_protocols(c, protocols({"range"}));
  EXPECT_EQ(group.choose_protocol(), "range");
  group.remove("c");
  group.remove("a");
  EXPECT_EQ(group.choose_protocol(), "sticky");
}

TEST(Group, AStaticMemberThatReturnsKeepsItsProtocols) {
  Group group("g");
  Member member;
  member.id = "i-1";
  member.instance_id = "i";
  member.protocols = protocols({"range"});
  group.add(std::move(member), "consumer");
  group.rename("i-1", "i-2");
  EXPECT_EQ(group.choose_protocol(), "range");
  EXPECT_FALSE(supports(group, {"sticky"}));
}

}  // namespace
}  // namespace weir::groups

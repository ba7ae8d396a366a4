// What is refused, or only given an id, leaves nothing in the log, and nothing in memory for long.
#include "groups/test_groups.h"

namespace weir::groups {
namespace {

class DraftTest : public GroupsTest {
 protected:
  KafkaError error_of(Who who) { return (**join(std::move(who))).error_code; }
  std::size_t listed() { return run_task(context_, groups_->list({})).groups.size(); }
};

TEST_F(DraftTest, AJoinThatIsRefusedMakesNoGroup) {
  EXPECT_EQ(error_of({.protocol_type = ""}), KafkaError::kInconsistentGroupProtocol);
  EXPECT_EQ(error_of({.version = 3, .protocol_count = 0}), KafkaError::kInconsistentGroupProtocol);
  EXPECT_EQ(error_of({.member_id = "nobody"}), KafkaError::kUnknownMemberId);
  EXPECT_EQ(error_of({.member_id = "nobody", .instance_id = "i"}), KafkaError::kUnknownMemberId);
  const std::string large(9'000, 'm');
  limits_.members_max_bytes = 50'000;
  restart();
  EXPECT_FALSE(join({.metadata = large, .version = 3, .group = "large"})->has_value());
  EXPECT_EQ(error_of({.metadata = large, .version = 3}), KafkaError::kCoordinatorNotAvailable);
  EXPECT_EQ(error_of({.instance_id = "i", .metadata = large}),
            KafkaError::kCoordinatorNotAvailable);
  EXPECT_EQ(log_.group_ids(), std::vector<std::string>{"large"});
  EXPECT_EQ(listed(), 1U);
}

TEST_F(DraftTest, AnIdIsHandedOutWithoutTheLog) {
  Who who;
  EXPECT_EQ((*join(who))->error_code, KafkaError::kMemberIdRequired);
  who.member_id = (*join(who))->member_id;
  EXPECT_EQ(log_.group("g"), nullptr);
  EXPECT_EQ(state(), "Empty");
  EXPECT_EQ(listed(), 1U);
  // Another one is no reason to let it in.
  EXPECT_EQ(error_of({.member_id = "nobody"}), KafkaError::kUnknownMemberId);
  EXPECT_EQ(error_of({.member_id = who.member_id, .protocol_type = ""}),
            KafkaError::kInconsistentGroupProtocol);
  EXPECT_EQ(log_.group("g"), nullptr);
  auto joined = join(who);
  EXPECT_FALSE(joined->has_value());
  EXPECT_NE(log_.group("g"), nullptr);
  advance(seconds(10));
  EXPECT_EQ((**joined).generation_id, 1);
}

TEST_F(DraftTest, IdsOfAGroupThatOthersMakeStayGood) {
  Who who;
  who.member_id = (*join(who))->member_id;
  EXPECT_EQ(commit("", -1, 5), KafkaError::kNone);
  auto joined = join(who);
  EXPECT_FALSE(joined->has_value());
  advance(seconds(10));
  EXPECT_EQ((**joined).error_code, KafkaError::kNone);
}

TEST_F(DraftTest, IdsLapseWithTheSessionAndAfterFiveMinutes) {
  Who brief;
  brief.member_id = (*join(brief))->member_id;
  Who patient{.session_ms = 1'800'000};
  patient.member_id = (*join(patient))->member_id;
  advance(seconds(11));
  EXPECT_EQ((*join(brief))->error_code, KafkaError::kUnknownMemberId);
  EXPECT_EQ(state(), "Empty");
  advance(seconds(290));
  EXPECT_EQ((*join(patient))->error_code, KafkaError::kUnknownMemberId);
  EXPECT_EQ(state(), "Dead");
  EXPECT_EQ(listed(), 0U);
}

TEST_F(DraftTest, WhoLeavesTakesItsDraftAlong) {
  Who who;
  who.member_id = (*join(who))->member_id;
  EXPECT_EQ(leave("nobody"), KafkaError::kUnknownMemberId);
  EXPECT_EQ(state(), "Empty");
  EXPECT_EQ(leave(who.member_id), KafkaError::kNone);
  EXPECT_EQ(state(), "Dead");
  EXPECT_EQ(leave(who.member_id), KafkaError::kUnknownMemberId);
}

TEST_F(DraftTest, ADraftIsDeletedAsAnEmptyGroup) {
  Who who;
  who.member_id = (*join(who))->member_id;
  kafka::DeleteGroupsRequest request;
  request.groups_names.push_back("g");
  auto remove = [&] {
    return run_task(context_, groups_->remove(request)).results.front().error_code;
  };
  EXPECT_EQ(remove(), KafkaError::kNone);
  EXPECT_EQ(remove(), KafkaError::kGroupIdNotFound);
  EXPECT_EQ((*join(who))->error_code, KafkaError::kUnknownMemberId);
}

// A timer has the group's and the member's names, and would outlast what is reserved for them.
TEST_F(DraftTest, WhoIsGoneLeavesNoTimer) {
  const std::size_t before = clock_.pending();
  const Who who{.session_ms = 1'800'000};
  leave((*join(who))->member_id);
  EXPECT_EQ(clock_.pending(), before);
  Joined member = join_new(who);
  advance(seconds(3));
  leave(member.id);
  EXPECT_EQ(clock_.pending(), before);
}

}  // namespace
}  // namespace weir::groups

// What expiry deletes, and what it spares because it came while it looked.
#include "groups/test_groups.h"

namespace weir::groups {
namespace {

constexpr std::int64_t kRetentionMs = 3'600'000;

class ExpiryTest : public GroupsTest {
 protected:
  ExpiryTest() {
    limits_.offsets_retention_ms = kRetentionMs;
    limits_.offsets_check_interval = std::chrono::hours(100);  // the tests say when
    restart();
  }
  void pass_retention() { advance(seconds(3'610)); }
  void expire() { run_task(context_, groups_->expire_offsets()); }
  // Ends when the log lets it.
  void start_expiry() {
    boost::asio::co_spawn(context_, groups_->expire_offsets(), [](const std::exception_ptr&) {});
    poll();
  }
  // What waits for the log gets there, and what follows waits again.
  void release_once() {
    log_.release();
    log_.hold();
    poll();
  }
  void release() {
    log_.release();
    poll();
  }
  // As one of this broker's that is before all that waits for the log.
  void commit_first(Offset offset) {
    metadata::OffsetCommit command{.group = "g", .claim = log_.group("g")->claim};
    command.entries.push_back({.topic = kTopic, .offset = offset, .commit_time = clock_.wall_ms()});
    EXPECT_EQ(log_.apply(command).error, KafkaError::kNone);
  }
  void delete_topic() { log_.apply(metadata::DeleteTopics{.topics = {kTopic}}); }
};

TEST_F(ExpiryTest, ACommitBeforeTheDeletionOfTheOffsetStays) {
  commit("", -1, 5);
  pass_retention();
  log_.hold();
  start_expiry();
  commit_first(77);
  release();
  EXPECT_EQ(committed(), 77);
}

TEST_F(ExpiryTest, ACommitBeforeTheDeletionOfTheGroupStays) {
  commit("", -1, 5);
  pass_retention();
  log_.hold();
  start_expiry();
  release_once();
  EXPECT_EQ(committed(), std::nullopt);
  commit_first(77);
  release();
  EXPECT_EQ(committed(), 77);
}

TEST_F(ExpiryTest, ACommitBehindTheDeletionOfTheGroupIsRefused) {
  commit("", -1, 5);
  pass_retention();
  log_.hold();
  start_expiry();
  release_once();
  PendingCommit late = start_commit("", -1, 77);
  release();
  EXPECT_EQ(outcome(late), KafkaError::kNotCoordinator);
  EXPECT_EQ(log_.group("g"), nullptr);
  EXPECT_EQ(commit("", -1, 77), KafkaError::kNone);
  EXPECT_EQ(committed(), 77);
}

// Its time begins when the log has it as empty, which takes a moment.
TEST_F(ExpiryTest, AGroupThatIsJustBecomingEmptyKeepsItsOffsets) {
  auto [leader, follower] = stable_pair();
  EXPECT_EQ(commit(leader, 1), KafkaError::kNone);
  for (int i = 0; i < 750; ++i) {
    heartbeat(leader, 1);
    heartbeat(follower, 1);
    advance(seconds(5));
  }
  leave(follower);
  log_.hold();
  leave(leader);
  EXPECT_EQ(state(), "Empty");
  start_expiry();
  release();
  EXPECT_EQ(committed(), 5);
  pass_retention();
  expire();
  EXPECT_EQ(log_.group("g"), nullptr);
}

TEST_F(ExpiryTest, MembersThatCameBeforeTheDeletionKeepTheOffsets) {
  commit("", -1, 5);
  pass_retention();
  log_.hold();
  start_expiry();
  metadata::GroupCommit joined{
      .group = "g", .claim = log_.group("g")->claim, .protocol_type = "consumer", .generation = 1};
  joined.members.push_back({.id = "m", .session_timeout_ms = 10'000});
  EXPECT_EQ(log_.apply(joined).error, KafkaError::kNone);
  release();
  EXPECT_EQ(committed(), 5);
}

TEST_F(ExpiryTest, AGroupWhoseEndTheLogDidNotTakeIsWrittenAgain) {
  auto [leader, follower] = stable_pair();
  leave(follower);
  log_.set_failure(Error{ErrorCode::kUnavailable, "down"});
  leave(leader);
  log_.set_failure(std::nullopt);
  EXPECT_FALSE(log_.group("g")->members->empty());
  expire();
  EXPECT_TRUE(log_.group("g")->members->empty());
  expire();
  EXPECT_EQ(log_.group("g"), nullptr);
}

TEST_F(ExpiryTest, GroupsWithoutMembersAndOffsetsGo) {
  log_.apply(metadata::GroupClaim{.group = "claimed"});
  commit("", -1, 5);
  expire();
  EXPECT_EQ(log_.group_ids(), std::vector<std::string>{"g"});
  delete_topic();
  expire();
  EXPECT_TRUE(log_.group_ids().empty());
}

TEST_F(ExpiryTest, AnIdThatWasHandedOutKeepsItsGroup) {
  commit("", -1, 5);
  delete_topic();
  Who who;
  who.member_id = (*join(who))->member_id;
  expire();
  EXPECT_FALSE(join(who)->has_value());
  expire();
  EXPECT_NE(log_.group("g"), nullptr);
}

TEST_F(ExpiryTest, AGroupThatWasDeletedWithoutAnAnswerIsLetGo) {
  commit("", -1, 5);
  log_.apply(metadata::GroupDelete{.group = "g", .claim = log_.group("g")->claim});
  poll();
  EXPECT_EQ(commit("", -1, 6), KafkaError::kNone);
}

}  // namespace
}  // namespace weir::groups

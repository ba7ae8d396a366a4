#include "groups/test_groups.h"
#include "metadata/live_owner.h"

namespace weir::groups {
namespace {

TEST_F(GroupsTest, JoinsAreCheckedBeforeAnythingElse) {
  EXPECT_EQ((*join({.session_ms = 5'999}))->error_code, KafkaError::kInvalidSessionTimeout);
  EXPECT_EQ((*join({.session_ms = 1'800'001}))->error_code, KafkaError::kInvalidSessionTimeout);
  EXPECT_EQ((*join({.member_id = "nobody"}))->error_code, KafkaError::kUnknownMemberId);
  EXPECT_EQ((*join({.protocol_type = ""}))->error_code, KafkaError::kInconsistentGroupProtocol);
}

TEST_F(GroupsTest, TheFirstRebalanceWaitsForMoreMembers) {
  Joined a = join_new();
  advance(milliseconds(2'900));
  EXPECT_FALSE(a.answer->has_value());
  Joined b = join_new();
  // Somebody came within the delay: another one follows.
  advance(milliseconds(200));
  EXPECT_FALSE(a.answer->has_value());
  advance(seconds(3));
  ASSERT_TRUE(a.answer->has_value());
  ASSERT_TRUE(b.answer->has_value());
  EXPECT_EQ((**a.answer).generation_id, 1);
  EXPECT_EQ((**a.answer).leader, (**b.answer).leader);
  const JoinGroupResponse& leader = (**a.answer).leader == a.id ? **a.answer : **b.answer;
  EXPECT_EQ(leader.members.size(), 2U);
  EXPECT_EQ(as_text(leader.members.front().metadata.bytes()), "m");
  EXPECT_EQ(state(), "CompletingRebalance");
}

TEST_F(GroupsTest, OldVersionsJoinWithoutAnIdOfTheirOwn) {
  auto answer = join({.version = 3});
  advance(seconds(3));
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((**answer).error_code, KafkaError::kNone);
  EXPECT_TRUE((**answer).member_id.starts_with("client-"));
}

// It asks the log who the owner is while this broker stops. In the group it would wait for ever.
TEST_F(GroupsTest, AJoinThatComesUponItsGroupAfterTheEndIsSentAway) {
  Joined member = join_new();
  advance(seconds(3));
  sync(member.id, 1, {{member.id, "a"}});
  ASSERT_EQ(state(), "Stable");
  for (BrokerId id = 2; metadata::live_owner(*log_.image(), "g") == 1; ++id)
    log_.apply_as(id, metadata::Heartbeat{});
  poll();
  log_.hold_reads();
  auto answer = join({.version = 3});
  for (const auto& [id, broker] : std::map(log_.image()->brokers)) {
    if (id != 1) log_.apply(metadata::FenceBroker{.broker_id = id, .epoch = broker.epoch});
  }
  poll();  // and it is the owner again, and takes the group over
  stop();
  ASSERT_FALSE(answer->has_value());
  log_.release_reads();
  poll();
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((**answer).error_code, KafkaError::kCoordinatorNotAvailable);
}

TEST_F(GroupsTest, FollowersWaitForTheLeadersAssignment) {
  auto [leader, follower] = stable_pair();
  // What is stable is answered at once; a member that the leader left out has an empty assignment.
  EXPECT_EQ(as_text((**sync(follower, 1)).assignment.bytes()), "F");
  EXPECT_EQ((**sync(follower, 2)).error_code, KafkaError::kIllegalGeneration);
  EXPECT_EQ((**sync("nobody", 1)).error_code, KafkaError::kUnknownMemberId);
}

TEST_F(GroupsTest, HeartbeatsTellOfARebalance) {
  auto [leader, follower] = stable_pair();
  EXPECT_EQ(heartbeat(follower, 1), KafkaError::kNone);
  EXPECT_EQ(heartbeat(follower, 7), KafkaError::kIllegalGeneration);
  EXPECT_EQ(heartbeat("nobody", 1), KafkaError::kUnknownMemberId);
  Joined c = join_new();
  EXPECT_EQ(heartbeat(follower, 1), KafkaError::kRebalanceInProgress);
  EXPECT_EQ((**sync(follower, 1)).error_code, KafkaError::kRebalanceInProgress);
}

TEST_F(GroupsTest, ARebalanceEndsWhenAllHaveJoinedAgain) {
  auto [leader, follower] = stable_pair();
  Joined c = join_new();
  auto again = join({.member_id = follower});
  EXPECT_FALSE(c.answer->has_value());
  auto leading = join({.member_id = leader});
  ASSERT_TRUE(c.answer->has_value());
  EXPECT_EQ((**c.answer).generation_id, 2);
  EXPECT_EQ((**leading).members.size(), 3U);
  EXPECT_TRUE((**again).members.empty());
}

TEST_F(GroupsTest, WhoDoesNotJoinAgainIsDroppedAtTheRebalanceTimeout) {
  auto [leader, follower] = stable_pair();
  Joined c = join_new({.session_ms = 100'000});
  auto leading = join({.member_id = leader, .session_ms = 100'000});
  for (int i = 0; i < 12; ++i) {
    EXPECT_FALSE(c.answer->has_value());
    heartbeat(follower, 1);
    advance(seconds(5));
  }
  ASSERT_TRUE(c.answer->has_value());
  EXPECT_EQ((**leading).members.size(), 2U);
  EXPECT_EQ(heartbeat(follower, 2), KafkaError::kUnknownMemberId);
}

TEST_F(GroupsTest, AMemberThatFallsSilentExpires) {
  auto [leader, follower] = stable_pair();
  for (int i = 0; i < 3; ++i) {
    advance(seconds(5));
    heartbeat(leader, 1);
  }
  EXPECT_EQ(heartbeat(follower, 1), KafkaError::kUnknownMemberId);
  EXPECT_EQ(heartbeat(leader, 1), KafkaError::kRebalanceInProgress);
}

TEST_F(GroupsTest, AnUnchangedFollowerRejoinsWithoutARebalanceTheLeaderWithOne) {
  auto [leader, follower] = stable_pair();
  auto same = join({.member_id = follower});
  ASSERT_TRUE(same->has_value());
  EXPECT_EQ((**same).generation_id, 1);
  EXPECT_EQ(state(), "Stable");
  join({.member_id = leader});
  EXPECT_EQ(state(), "PreparingRebalance");
}

TEST_F(GroupsTest, AFollowerThatWantsSomethingElseStartsARebalance) {
  auto [leader, follower] = stable_pair();
  auto other = join({.member_id = follower, .metadata = "other"});
  EXPECT_FALSE(other->has_value());
  EXPECT_EQ(state(), "PreparingRebalance");
}

TEST_F(GroupsTest, AMemberWithoutACommonProtocolIsRefused) {
  stable_pair();
  EXPECT_EQ((*join({.protocol = "sticky"}))->error_code, KafkaError::kInconsistentGroupProtocol);
  EXPECT_EQ((*join({.protocol_type = "connect"}))->error_code,
            KafkaError::kInconsistentGroupProtocol);
}

TEST_F(GroupsTest, AMemberHasAThousandProtocolsAtMost) {
  EXPECT_FALSE(join({.version = 3, .protocol_count = 1'000})->has_value());
  EXPECT_EQ((*join({.version = 3, .protocol_count = 1'001}))->error_code,
            KafkaError::kInconsistentGroupProtocol);
}

TEST_F(GroupsTest, AFullGroupTakesNobodyMore) {
  limits_.max_size = 2;
  restart();
  stable_pair();
  EXPECT_EQ((*join({}))->error_code, KafkaError::kGroupMaxSizeReached);
}

TEST_F(GroupsTest, LeavingStartsARebalanceAndTheLastOneEmptiesTheGroup) {
  auto [leader, follower] = stable_pair();
  EXPECT_EQ(leave("nobody"), KafkaError::kUnknownMemberId);
  EXPECT_EQ(leave(follower), KafkaError::kNone);
  EXPECT_EQ(state(), "PreparingRebalance");
  EXPECT_EQ(leave(leader), KafkaError::kNone);
  EXPECT_EQ(state(), "Empty");
  EXPECT_TRUE(log_.group("g")->members->empty());
}

TEST_F(GroupsTest, WhoJoinsButDoesNotSyncIsRemoved) {
  Joined a = join_new();
  Joined b = join_new();
  advance(seconds(6));
  std::string leader = (**a.answer).leader;
  std::string follower = leader == a.id ? b.id : a.id;
  sync(leader, 1, {});
  for (int i = 0; i < 12; ++i) {
    heartbeat(follower, 1);
    heartbeat(leader, 1);
    advance(seconds(5));
  }
  EXPECT_EQ(heartbeat(follower, 1), KafkaError::kUnknownMemberId);
  EXPECT_EQ(heartbeat(leader, 1), KafkaError::kRebalanceInProgress);
}

TEST_F(GroupsTest, AnAssignmentThatCannotBeLoggedIsNotHandedOut) {
  Joined a = join_new();
  advance(seconds(3));
  log_.set_failure(Error{ErrorCode::kUnavailable, "down"});
  auto leading = sync(a.id, 1, {{a.id, "A"}});
  EXPECT_EQ((**leading).error_code, KafkaError::kCoordinatorNotAvailable);
  log_.set_failure(std::nullopt);
  EXPECT_EQ(state(), "PreparingRebalance");
}

// Clients look for another coordinator after other errors, and lose their sessions over it.
TEST_F(GroupsTest, WhileTheLogIsDownACommitIsTriedAgainAtTheSameCoordinator) {
  Joined a = join_new();
  advance(seconds(3));
  sync(a.id, 1, {{a.id, "A"}});
  log_.set_failure(Error{ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(commit(a.id, 1), KafkaError::kCoordinatorLoadInProgress);
  EXPECT_EQ(heartbeat(a.id, 1), KafkaError::kNone);
  log_.set_failure(Error{ErrorCode::kFenced, "another owns the group"});
  EXPECT_EQ(commit(a.id, 1), KafkaError::kCoordinatorNotAvailable);
}

TEST_F(GroupsTest, AStaticMemberThatReturnsKeepsItsPlaceWithoutARebalance) {
  auto first = join({.instance_id = "i1"});
  advance(seconds(3));
  std::string old_id = (**first).member_id;
  EXPECT_TRUE(old_id.starts_with("i1-"));
  sync(old_id, 1, {{old_id, "A"}});
  auto back = join({.instance_id = "i1"});
  ASSERT_TRUE(back->has_value());
  EXPECT_EQ((**back).error_code, KafkaError::kNone);
  EXPECT_EQ((**back).generation_id, 1);
  EXPECT_NE((**back).member_id, old_id);
  EXPECT_TRUE((**back).skip_assignment);
  EXPECT_EQ((**back).members.size(), 1U);
  EXPECT_EQ(state(), "Stable");
  EXPECT_EQ(as_text((**sync((**back).member_id, 1)).assignment.bytes()), "A");
  // The old id is fenced.
  auto fenced = join({.member_id = old_id, .instance_id = "i1"});
  EXPECT_EQ((**fenced).error_code, KafkaError::kFencedInstanceId);
  EXPECT_EQ(log_.group("g")->members->front().id, (**back).member_id);
}

TEST_F(GroupsTest, AReturningStaticLeaderOfAnOldVersionIsNotToldThatItLeads) {
  auto first = join({.instance_id = "i1", .version = 8});
  advance(seconds(3));
  std::string old_id = (**first).member_id;
  sync(old_id, 1, {{old_id, "A"}});
  auto back = join({.instance_id = "i1", .version = 8});
  EXPECT_EQ((**back).leader, old_id);
  EXPECT_TRUE((**back).members.empty());
  EXPECT_FALSE((**back).skip_assignment);
}

TEST_F(GroupsTest, ARestartKeepsGenerationMembersAndOffsets) {
  auto [leader, follower] = stable_pair();
  EXPECT_EQ(commit(follower, 1, 42), KafkaError::kNone);
  restart();
  EXPECT_EQ(state(), "Stable");
  EXPECT_EQ(heartbeat(leader, 1), KafkaError::kNone);
  EXPECT_EQ(as_text((**sync(follower, 1)).assignment.bytes()), "F");
  EXPECT_EQ(committed(), 42);
  // Sessions go on: who does not come back expires.
  advance(seconds(5));
  heartbeat(leader, 1);
  advance(seconds(6));
  EXPECT_EQ(heartbeat(follower, 1), KafkaError::kUnknownMemberId);
}

TEST_F(GroupsTest, AnotherBrokersClaimEndsThisOnes) {
  auto [leader, follower] = stable_pair();
  log_.apply_as(2, metadata::GroupClaim{.group = "g"});
  EXPECT_EQ(commit(leader, 1), KafkaError::kNotCoordinator);
  EXPECT_EQ(committed(), std::nullopt);
}

TEST_F(GroupsTest, CommitsAreCheckedAgainstMemberAndGeneration) {
  EXPECT_EQ(commit("nobody", 3), KafkaError::kIllegalGeneration);  // there is no group
  EXPECT_EQ(commit("", -1, 9), KafkaError::kNone);  // a consumer without a group protocol
  EXPECT_EQ(committed(), 9);
  auto [leader, follower] = stable_pair();
  EXPECT_EQ(commit("", -1), KafkaError::kUnknownMemberId);
  EXPECT_EQ(commit("nobody", 1), KafkaError::kUnknownMemberId);
  EXPECT_EQ(commit(leader, 4), KafkaError::kIllegalGeneration);
  EXPECT_EQ(commit(leader, 1, 10), KafkaError::kNone);
  EXPECT_EQ(commit(leader, 1, 11, std::string(4097, 'x')), KafkaError::kOffsetMetadataTooLarge);
  EXPECT_EQ(committed(), 10);
  const auto group = log_.group("g");
  EXPECT_EQ(group->offsets.find(TopicPartition{kTopic, 0})->metadata, "note");
}

// A log that takes long must not make the next requests of a busy consumer wait.
TEST_F(GroupsTest, CommitsStandInLineTogetherAndInOrder) {
  auto [leader, follower] = stable_pair();
  ASSERT_EQ(commit(leader, 1, 1), KafkaError::kNone);
  log_.hold();
  std::vector<PendingCommit> pending;
  for (Offset offset : {7, 5, 6}) pending.push_back(start_commit(leader, 1, offset));
  EXPECT_EQ(heartbeat(leader, 1), KafkaError::kNone);
  bool is_settled = false;
  boost::asio::co_spawn(context_, groups_->wait_for_commits("g"),
                        [&](const std::exception_ptr&) { is_settled = true; });
  poll();
  for (const PendingCommit& one : pending) EXPECT_FALSE(one.is_set());
  EXPECT_FALSE(is_settled);
  EXPECT_EQ(committed(), 1);
  log_.release();
  poll();
  EXPECT_TRUE(is_settled);
  for (const PendingCommit& one : pending) EXPECT_EQ(outcome(one), KafkaError::kNone);
  EXPECT_EQ(committed(), 6);
  run_task(context_, groups_->wait_for_commits("g"));
  run_task(context_, groups_->wait_for_commits("unknown"));
}

TEST_F(GroupsTest, ACommitWhoseOutcomeStaysUnknownIsAnsweredAfterAWhile) {
  auto [leader, follower] = stable_pair();
  log_.hold();
  PendingCommit unknown = start_commit(leader, 1, 7);
  advance(milliseconds(4999));
  EXPECT_FALSE(unknown.is_set());
  advance(milliseconds(1));
  ASSERT_TRUE(unknown.is_set());
  EXPECT_EQ(outcome(unknown), KafkaError::kCoordinatorLoadInProgress);
  // None stands in line behind it, and who asks for offsets waits for it.
  EXPECT_EQ(commit(leader, 1, 8), KafkaError::kCoordinatorLoadInProgress);
  EXPECT_EQ(heartbeat(leader, 1), KafkaError::kNone);
  bool is_settled = false;
  boost::asio::co_spawn(context_, groups_->wait_for_commits("g"),
                        [&](const std::exception_ptr&) { is_settled = true; });
  poll();
  EXPECT_FALSE(is_settled);
  log_.release();
  poll();
  EXPECT_TRUE(is_settled);
  EXPECT_EQ(committed(), 7);
  EXPECT_EQ(commit(leader, 1, 8), KafkaError::kNone);
  EXPECT_EQ(committed(), 8);
}

TEST_F(GroupsTest, WhileTheAssignmentIsAwaitedNothingIsCommitted) {
  Joined a = join_new();
  advance(seconds(3));
  EXPECT_EQ(commit(a.id, 1), KafkaError::kRebalanceInProgress);
}

TEST_F(GroupsTest, OffsetsExpireAfterTheGroupHasBeenEmptyForTheRetention) {
  limits_.offsets_retention_ms = 3'600'000;
  restart();
  auto [leader, follower] = stable_pair();
  EXPECT_EQ(commit(leader, 1), KafkaError::kNone);
  // With members nothing expires: "m" is no subscription that could be read.
  for (int i = 0; i < 900; ++i) {
    advance(seconds(5));
    heartbeat(leader, 1);
    heartbeat(follower, 1);
  }
  run_task(context_, groups_->expire_offsets());
  EXPECT_EQ(committed(), 5);
  leave(leader);
  leave(follower);
  advance(seconds(3'590));
  run_task(context_, groups_->expire_offsets());
  EXPECT_EQ(committed(), 5);
  advance(seconds(20));
  run_task(context_, groups_->expire_offsets());
  EXPECT_EQ(log_.group("g"), nullptr);
}

TEST_F(GroupsTest, OffsetsOfTopicsInUseDoNotExpire) {
  limits_.offsets_retention_ms = 1'000;
  restart();
  std::string wants_t = subscription("t");
  Joined a = join_new({.metadata = wants_t});
  advance(seconds(3));
  sync(a.id, 1, {{a.id, "A"}});
  EXPECT_EQ(commit(a.id, 1), KafkaError::kNone);
  advance(seconds(5));
  run_task(context_, groups_->expire_offsets());
  EXPECT_EQ(committed(), 5);
}

TEST_F(GroupsTest, OffsetsOfATopicThatIsInUseAreNotDeleted) {
  std::string wants_t = subscription("t");
  Joined a = join_new({.metadata = wants_t});
  advance(seconds(3));
  sync(a.id, 1, {{a.id, "A"}});
  EXPECT_EQ(commit(a.id, 1), KafkaError::kNone);
  kafka::OffsetDeleteRequest request;
  request.group_id = "g";
  request.topics.push_back({.name = "t", .partitions = {{.partition_index = 0}}});
  auto answer = run_task(context_, groups_->delete_offsets(request));
  EXPECT_EQ(answer.topics.front().partitions.front().error_code,
            KafkaError::kGroupSubscribedToTopic);
  leave(a.id);
  answer = run_task(context_, groups_->delete_offsets(request));
  EXPECT_EQ(answer.topics.front().partitions.front().error_code, KafkaError::kNone);
  EXPECT_EQ(committed(), std::nullopt);
}

TEST_F(GroupsTest, OnlyEmptyGroupsAreDeleted) {
  kafka::DeleteGroupsRequest request;
  request.groups_names.push_back("g");
  auto remove = [&] {
    return run_task(context_, groups_->remove(request)).results.front().error_code;
  };
  EXPECT_EQ(remove(), KafkaError::kGroupIdNotFound);
  auto [leader, follower] = stable_pair();
  EXPECT_EQ(remove(), KafkaError::kNonEmptyGroup);
  leave(leader);
  leave(follower);
  EXPECT_EQ(remove(), KafkaError::kNone);
  EXPECT_EQ(log_.group("g"), nullptr);
}

TEST_F(GroupsTest, DescribesAndListsWithFilters) {
  kafka::DescribeGroupsRequest missing;
  missing.groups.push_back("g");
  auto described = run_task(context_, groups_->describe(missing, 5)).groups.front();
  EXPECT_EQ(described.group_state, "Dead");
  EXPECT_EQ(described.error_code, KafkaError::kNone);
  EXPECT_EQ(run_task(context_, groups_->describe(missing, 6)).groups.front().error_code,
            KafkaError::kGroupIdNotFound);
  stable_pair();
  described = run_task(context_, groups_->describe(missing, 6)).groups.front();
  EXPECT_EQ(described.protocol_data, "range");
  EXPECT_EQ(described.members.size(), 2U);
  EXPECT_EQ(described.members.front().client_host, "/127.0.0.1");
  kafka::DescribeGroupsRequest repeated;
  repeated.groups = {"other", "g", "other", "g", "g"};
  auto once = run_task(context_, groups_->describe(repeated, 6)).groups;
  ASSERT_EQ(once.size(), 2U);
  EXPECT_EQ(once.front().group_id, "other");
  EXPECT_EQ(once.back().group_id, "g");
  kafka::ListGroupsRequest stable;
  stable.states_filter.push_back("stable");
  EXPECT_EQ(run_task(context_, groups_->list(stable)).groups.size(), 1U);
  kafka::ListGroupsRequest empty;
  empty.states_filter.push_back("Empty");
  EXPECT_TRUE(run_task(context_, groups_->list(empty)).groups.empty());
  kafka::ListGroupsRequest consumers;
  consumers.types_filter.push_back("consumer");
  EXPECT_TRUE(run_task(context_, groups_->list(consumers)).groups.empty());
}

}  // namespace
}  // namespace weir::groups

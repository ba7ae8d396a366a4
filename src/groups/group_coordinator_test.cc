#include "groups/group_coordinator.h"

#include "base/byte_writer.h"
#include "metadata/memory_coordinator.h"
#include "runtime/test_loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace weir::groups {
namespace {

using kafka::JoinGroupRequest;
using kafka::JoinGroupResponse;
using kafka::KafkaError;
using kafka::SyncGroupRequest;
using kafka::SyncGroupResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TopicId kTopic{7, 7};

// A consumer's subscription to one topic, version 1.
std::string subscription(std::string_view topic) {
  ByteWriter out;
  out.i16(1);
  out.i32(1);
  out.i16(static_cast<std::int16_t>(topic.size()));
  out.text(topic);
  out.i32(-1);  // user data
  out.i32(0);   // owned partitions
  return std::string(as_text(out.view()));
}

struct Who {
  std::string member_id;
  std::optional<std::string_view> instance_id;
  std::string_view metadata = "m";
  std::int32_t session_ms = 10'000;
  std::int32_t rebalance_ms = 60'000;
  std::int16_t version = 9;
  std::string_view protocol = "range";
  std::string_view protocol_type = "consumer";
};

template <typename T>
using Later = std::shared_ptr<std::optional<T>>;

class GroupsTest : public ::testing::Test {
 protected:
  GroupsTest() {
    log_.add_listener(listener_);
    log_.apply(metadata::CreateTopics{.topics = {{.name = "t", .id = kTopic, .partitions = 2}}});
    restart();
  }
  ~GroupsTest() override { stop(); }

  // As a broker that starts anew on the same log.
  void restart() {
    if (groups_) stop();
    groups_ = std::make_unique<GroupCoordinator>(log_, 1, clock_, context_.get_executor(), limits_,
                                                 Rng(++seed_));
    listener_.groups = groups_.get();
    EXPECT_TRUE(run_task(context_, groups_->start()));
  }
  void stop() {
    bool is_stopped = false;
    boost::asio::co_spawn(context_, groups_->stop(),
                          [&](const std::exception_ptr&) { is_stopped = true; });
    poll();
    EXPECT_TRUE(is_stopped);
  }

  void poll() {
    context_.restart();
    context_.poll();
  }
  // In steps, so that a timer that sets the next one does so in its own time.
  void advance(Duration by) {
    for (Duration step = milliseconds(100); by > Duration::zero(); by -= step) {
      clock_.advance(std::min(step, by));
      poll();
    }
  }

  template <typename T>
  Later<T> start_task(Task<T> task) {
    auto later = std::make_shared<std::optional<T>>();
    boost::asio::co_spawn(context_, std::move(task),
                          [later](const std::exception_ptr& error, T value) {
                            if (error) std::rethrow_exception(error);
                            *later = std::move(value);
                          });
    poll();
    return later;
  }

  Later<JoinGroupResponse> join(Who who) {
    // The views of a request live as long as its frame: here, as long as the test.
    who_.push_back(std::make_unique<Who>(std::move(who)));
    const Who& kept = *who_.back();
    auto request = std::make_unique<JoinGroupRequest>();
    request->group_id = "g";
    request->session_timeout_ms = kept.session_ms;
    request->rebalance_timeout_ms = kept.rebalance_ms;
    request->member_id = kept.member_id;
    request->group_instance_id = kept.instance_id;
    request->protocol_type = kept.protocol_type;
    request->protocols.push_back({.name = kept.protocol, .metadata = as_bytes(kept.metadata)});
    joins_.push_back(std::move(request));
    return start_task(
        groups_->join({.client_id = "client", .host = "/127.0.0.1"}, *joins_.back(), kept.version));
  }

  // A dynamic member's two joins; the second waits for the rebalance.
  struct Joined {
    std::string id;
    Later<JoinGroupResponse> answer;
  };
  Joined join_new(Who who = {}) {
    auto first = join(who);
    EXPECT_EQ((*first)->error_code, KafkaError::kMemberIdRequired);
    who.member_id = (*first)->member_id;
    return {.id = who.member_id, .answer = join(who)};
  }

  Later<SyncGroupResponse> sync(const std::string& member, std::int32_t generation,
                                std::map<std::string, std::string> assignments = {}) {
    auto request = std::make_unique<SyncGroupRequest>();
    texts_.push_back(member);
    request->group_id = "g";
    request->generation_id = generation;
    request->member_id = texts_.back();
    for (auto& [id, assignment] : assignments) {
      texts_.push_back(id);
      std::string_view kept_id = texts_.back();
      texts_.push_back(assignment);
      request->assignments.push_back({.member_id = kept_id, .assignment = as_bytes(texts_.back())});
    }
    syncs_.push_back(std::move(request));
    return start_task(groups_->sync(*syncs_.back()));
  }

  KafkaError heartbeat(const std::string& member, std::int32_t generation) {
    kafka::HeartbeatRequest request;
    request.group_id = "g";
    request.member_id = member;
    request.generation_id = generation;
    return run_task(context_, groups_->heartbeat(request)).error_code;
  }

  KafkaError leave(const std::string& member) {
    kafka::LeaveGroupRequest request;
    request.group_id = "g";
    request.members.push_back({.member_id = member});
    return run_task(context_, groups_->leave(request, 5)).members.front().error_code;
  }

  std::string state() {
    kafka::DescribeGroupsRequest request;
    request.groups.push_back("g");
    return run_task(context_, groups_->describe(request, 6)).groups.front().group_state;
  }

  KafkaError commit(const std::string& member, std::int32_t generation, Offset offset = 5,
                    std::string_view metadata = "note") {
    kafka::OffsetCommitRequest request;
    request.group_id = "g";
    request.member_id = member;
    request.generation_id_or_member_epoch = generation;
    request.topics.push_back(
        {.name = "t",
         .partitions = {
             {.partition_index = 0, .committed_offset = offset, .committed_metadata = metadata}}});
    return run_task(context_, groups_->commit_offsets(request, 8))
        .topics.front()
        .partitions.front()
        .error_code;
  }

  std::optional<Offset> committed() {
    auto group = log_.group("g");
    if (!group) return std::nullopt;
    const auto* offset = group->offsets.find(TopicPartition{kTopic, 0});
    if (offset == nullptr) return std::nullopt;
    return offset->offset;
  }

  // Two members, the first leads, in generation 1, stable.
  std::pair<std::string, std::string> stable_pair() {
    Joined a = join_new();
    Joined b = join_new();
    advance(seconds(6));
    EXPECT_TRUE(a.answer->has_value());
    std::string leader = (**a.answer).leader;
    std::string follower = leader == a.id ? b.id : a.id;
    auto waiting = sync(follower, 1);
    auto leading = sync(leader, 1, {{leader, "L"}, {follower, "F"}});
    EXPECT_EQ(as_text((**waiting).assignment.bytes()), "F");
    EXPECT_EQ(as_text((**leading).assignment.bytes()), "L");
    EXPECT_EQ(state(), "Stable");
    return {leader, follower};
  }

  ManualClock clock_;
  boost::asio::io_context context_;
  // Brokers come and go in the tests; the log's listener stays.
  struct Listener final : metadata::CommitListener {
    void on_partitions_advanced(std::span<const TopicPartition>) override {}
    void on_image_changed() override {
      if (groups != nullptr) groups->on_image_changed();
    }
    void on_groups_changed(std::span<const std::string> changed) override {
      if (groups != nullptr) groups->on_groups_changed(changed);
    }
    GroupCoordinator* groups = nullptr;
  } listener_;
  metadata::MemoryCoordinator log_{clock_, context_.get_executor()};
  GroupLimits limits_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<GroupCoordinator> groups_;
  std::vector<std::unique_ptr<Who>> who_;
  std::vector<std::unique_ptr<JoinGroupRequest>> joins_;
  std::vector<std::unique_ptr<SyncGroupRequest>> syncs_;
  std::deque<std::string> texts_;
};

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

TEST_F(GroupsTest, AFullGroupTakesNobodyMore) {
  limits_.max_size = 2;
  restart();
  stable_pair();
  EXPECT_EQ((*join({}))->error_code, KafkaError::kGroupMaxSizeReached);
}

TEST_F(GroupsTest, MembersTogetherTakeLimitedMemory) {
  limits_.members_max_bytes = 10'000;
  restart();
  const std::string large(9'000, 'm');
  auto first = join({.metadata = large, .version = 3});
  EXPECT_EQ((*join({.version = 3}))->error_code, KafkaError::kCoordinatorNotAvailable);
  advance(seconds(3));
  ASSERT_EQ((*first)->error_code, KafkaError::kNone);
  // Saying less, or leaving, gives it back.
  join({.member_id = (*first)->member_id});
  auto second = join({.version = 3});
  EXPECT_FALSE(second->has_value());
  leave((*first)->member_id);
}

TEST_F(GroupsTest, IdsHandedOutTakeOfTheSameMemory) {
  limits_.members_max_bytes = 2'000;
  restart();
  std::size_t given = 0;
  KafkaError error = KafkaError::kMemberIdRequired;
  while (error == KafkaError::kMemberIdRequired && given < 100) {
    error = (*join({}))->error_code;
    given += error == KafkaError::kMemberIdRequired ? 1 : 0;
  }
  EXPECT_EQ(error, KafkaError::kCoordinatorNotAvailable);
  EXPECT_LT(given, 2'000U / 256);
  // They lapse.
  advance(seconds(11));
  EXPECT_EQ((*join({}))->error_code, KafkaError::kMemberIdRequired);
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

// Groups: claims fence, generations and offsets stay.
#include "metadata/state/test_log.h"

#include <gtest/gtest.h>

namespace weir::metadata {
namespace {

using kafka::KafkaError;

class Groups : public testing::Test {
 protected:
  Position claim(BrokerId broker = 1, const std::string& group = "g") {
    return log_.append({GroupClaim{.group = group}}, broker).at(0).value;
  }
  static GroupMember member(const std::string& id) {
    GroupMember member;
    member.id = id;
    member.subscription.assign(3, std::byte{1});
    member.assignment.assign(2, std::byte{9});
    return member;
  }
  GroupCommit generation(Position claim, std::int32_t number) {
    GroupCommit commit{.group = "g",
                       .claim = claim,
                       .protocol_type = "consumer",
                       .generation = number,
                       .protocol = "range"};
    commit.leader = "m1";
    commit.members = {member("m1"), member("m2")};
    return commit;
  }
  OffsetCommit offset(Position claim, Offset offset, PartitionIndex partition = 0) {
    OffsetCommit commit{.group = "g", .claim = claim};
    commit.entries.push_back({.topic = topic_,
                              .partition = partition,
                              .offset = offset,
                              .commit_time = log_.now,
                              .metadata = "meta"});
    return commit;
  }

  TestLog log_;
  TopicId topic_ = log_.create_topic("orders", 4);
};

TEST_F(Groups, AClaimMakesTheGroupAndNamesItsOwner) {
  EXPECT_EQ(log_.readers.group("g"), nullptr);
  Position at = claim();
  EXPECT_EQ(at, log_.state.position());
  auto group = log_.readers.group("g");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->owner, 1);
  EXPECT_EQ(group->claim, at);
  EXPECT_TRUE(group->members->empty());
  EXPECT_EQ(log_.readers.group_ids(), std::vector<std::string>{"g"});
}

TEST_F(Groups, ANewOwnerGoesOnWhereTheOldOneWas) {
  Position first = claim(1);
  log_.apply(generation(first, 3));
  log_.apply(offset(first, 42));
  Position second = claim(2);
  auto group = log_.readers.group("g");
  EXPECT_EQ(group->owner, 2);
  EXPECT_EQ(group->generation, 3);
  EXPECT_EQ(group->protocol, "range");
  EXPECT_EQ(group->leader, "m1");
  ASSERT_EQ(group->members->size(), 2U);
  EXPECT_EQ(group->members->at(1), member("m2"));
  EXPECT_EQ(group->offsets.find(TopicPartition{topic_, 0})->offset, 42);
  EXPECT_GT(second, first);
}

TEST_F(Groups, TheOldOwnersCommandsAreRefused) {
  Position first = claim(1);
  log_.apply(generation(first, 3));
  log_.apply(offset(first, 42));
  Position second = claim(2);
  EXPECT_EQ(log_.apply(generation(first, 4)).error, KafkaError::kNotCoordinator);
  EXPECT_EQ(log_.apply(offset(first, 50)).error, KafkaError::kNotCoordinator);
  OffsetDelete remove{.group = "g", .claim = first};
  remove.entries.push_back({.topic = topic_});
  EXPECT_EQ(log_.apply(remove).error, KafkaError::kNotCoordinator);
  EXPECT_EQ(log_.apply(GroupDelete{.group = "g", .claim = first}).error,
            KafkaError::kNotCoordinator);
  auto group = log_.readers.group("g");
  EXPECT_EQ(group->generation, 3);
  EXPECT_EQ(group->offsets.find(TopicPartition{topic_, 0})->offset, 42);
  EXPECT_EQ(log_.append({generation(second, 4)}, 2).at(0).error, KafkaError::kNone);
  EXPECT_EQ(log_.readers.group("g")->generation, 4);
}

TEST_F(Groups, ASecondClaimOfTheSameBrokerEndsTheFirst) {
  Position first = claim(1);
  Position second = claim(1);
  EXPECT_EQ(log_.apply(offset(first, 1)).error, KafkaError::kNotCoordinator);
  EXPECT_EQ(log_.apply(offset(second, 1)).error, KafkaError::kNone);
}

TEST_F(Groups, WithoutAClaimNothingIsAccepted) {
  EXPECT_EQ(log_.apply(offset(-1, 1)).error, KafkaError::kNotCoordinator);
  EXPECT_EQ(log_.apply(generation(-1, 1)).error, KafkaError::kNotCoordinator);
  EXPECT_EQ(log_.readers.group("g"), nullptr);
}

TEST_F(Groups, OffsetsAreKeptAsCommitted) {
  Position at = claim();
  OffsetCommit commit = offset(at, 7, 2);
  commit.entries[0].leader_epoch = 5;
  commit.entries[0].expire_time = 99;
  commit.entries.push_back({.topic = topic_, .partition = 4, .offset = 1});  // no such partition
  commit.entries.push_back(
      {.topic = topic_id("gone"), .partition = 0, .offset = 1});  // no such topic
  CommandResult result = log_.apply(commit);
  EXPECT_EQ(result.items[0].error, KafkaError::kNone);
  EXPECT_EQ(result.items[1].error, KafkaError::kUnknownTopicOrPartition);
  EXPECT_EQ(result.items[2].error, KafkaError::kUnknownTopicOrPartition);
  auto group = log_.readers.group("g");
  ASSERT_EQ(group->offsets.size(), 1U);
  EXPECT_EQ(*group->offsets.find(TopicPartition{topic_, 2}),
            (CommittedOffset{.offset = 7,
                             .leader_epoch = 5,
                             .commit_time = TestLog::kStart,
                             .expire_time = 99,
                             .metadata = "meta"}));
  log_.apply(offset(at, 3, 2));  // going back is allowed
  EXPECT_EQ(log_.readers.group("g")->offsets.find(TopicPartition{topic_, 2})->offset, 3);
  EXPECT_EQ(group->offsets.find(TopicPartition{topic_, 2})->offset, 7);  // the old image stands
}

TEST_F(Groups, OffsetsAreDeletedAndExpired) {
  Position at = claim();
  log_.apply(offset(at, 1, 0));
  log_.apply(offset(at, 1, 1));
  log_.now += 10;
  log_.apply(offset(at, 2, 1));
  OffsetDelete remove{.group = "g", .claim = at};
  remove.entries = {{.topic = topic_, .partition = 0, .if_committed_at = TestLog::kStart},
                    {.topic = topic_, .partition = 1, .if_committed_at = TestLog::kStart},
                    {.topic = topic_, .partition = 3}};
  CommandResult result = log_.apply(remove);
  EXPECT_EQ(result.items[0].error, KafkaError::kNone);
  EXPECT_EQ(result.items[1].error,
            KafkaError::kUnknownTopicOrPartition);  // committed again meanwhile
  EXPECT_EQ(result.items[2].error, KafkaError::kUnknownTopicOrPartition);
  EXPECT_EQ(log_.readers.group("g")->offsets.size(), 1U);
}

// Two commits of one time, of which one had said when it expires.
TEST_F(Groups, AnOffsetThatExpiresAtAnotherTimeIsAnotherOne) {
  Position at = claim();
  OffsetCommit commit = offset(at, 1);
  commit.entries[0].expire_time = log_.now + 1;
  log_.apply(commit);
  log_.apply(offset(at, 2));
  OffsetDelete remove{.group = "g", .claim = at};
  remove.entries = {{.topic = topic_, .if_committed_at = log_.now, .if_expires_at = log_.now + 1}};
  EXPECT_EQ(log_.apply(remove).items[0].error, KafkaError::kUnknownTopicOrPartition);
  EXPECT_EQ(log_.readers.group("g")->offsets.size(), 1U);
  remove.entries[0].if_expires_at = -1;
  EXPECT_EQ(log_.apply(remove).items[0].error, KafkaError::kNone);
}

TEST_F(Groups, WhatWasJudgedInOneGenerationIsNotDeletedInAnother) {
  Position at = claim();
  log_.apply(GroupCommit{.group = "g", .claim = at, .protocol_type = "consumer", .generation = 2});
  log_.apply(offset(at, 1));
  log_.apply(generation(at, 3));
  OffsetDelete remove{.group = "g", .claim = at, .if_generation = 2};
  remove.entries = {{.topic = topic_, .if_committed_at = log_.now}};
  EXPECT_EQ(log_.apply(remove).error, KafkaError::kIllegalGeneration);
  EXPECT_EQ(log_.readers.group("g")->offsets.size(), 1U);
  remove.if_generation = 3;
  EXPECT_EQ(log_.apply(remove).error, KafkaError::kNone);
  EXPECT_TRUE(log_.readers.group("g")->offsets.empty());
}

TEST_F(Groups, AGroupThatHasOffsetsAgainIsNotDeletedAsOneWithout) {
  Position at = claim();
  log_.apply(offset(at, 1));
  const GroupDelete if_bare{.group = "g", .claim = at, .if_without_offsets = true};
  EXPECT_EQ(log_.apply(if_bare).error, KafkaError::kNonEmptyGroup);
  EXPECT_EQ(log_.readers.group("g")->offsets.size(), 1U);
  OffsetDelete remove{.group = "g", .claim = at};
  remove.entries = {{.topic = topic_}};
  log_.apply(remove);
  EXPECT_EQ(log_.apply(if_bare).error, KafkaError::kNone);
  EXPECT_EQ(log_.readers.group("g"), nullptr);
}

TEST_F(Groups, OnlyAGroupWithoutMembersIsDeleted) {
  Position at = claim();
  log_.apply(generation(at, 1));
  log_.apply(offset(at, 1));
  EXPECT_EQ(log_.apply(GroupDelete{.group = "g", .claim = at}).error, KafkaError::kNonEmptyGroup);
  GroupCommit empty{.group = "g", .claim = at, .protocol_type = "consumer", .generation = 2};
  log_.now += 5;
  log_.apply(empty);
  EXPECT_EQ(log_.readers.group("g")->state_time, TestLog::kStart + 5);
  EXPECT_EQ(log_.apply(GroupDelete{.group = "g", .claim = at}).error, KafkaError::kNone);
  EXPECT_EQ(log_.readers.group("g"), nullptr);
  EXPECT_TRUE(log_.readers.group_ids().empty());
  EXPECT_EQ(log_.apply(GroupDelete{.group = "g", .claim = at}).error, KafkaError::kGroupIdNotFound);
  claim();
  EXPECT_TRUE(log_.readers.group("g")->offsets.empty());
}

}  // namespace
}  // namespace weir::metadata

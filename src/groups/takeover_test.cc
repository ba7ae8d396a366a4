// Groups of a cluster: several brokers on one log, each with a coordinator of its own.
#include "groups/group_coordinator.h"
#include "metadata/coordinator_harness.h"
#include "metadata/live_owner.h"
#include "metadata/state/record.h"

namespace weir::groups {
namespace {

using kafka::KafkaError;
using metadata::Cable;
using metadata::LogCoordinator;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TopicId kTopic{7, 7};

class TakeoverTest : public metadata::CoordinatorHarness {
 protected:
  struct Node {
    explicit Node(metadata::MetadataLog& log) : cable(log) {}
    BrokerId id = 0;
    Cable cable;
    std::unique_ptr<LogCoordinator> log;
    std::unique_ptr<GroupCoordinator> groups;
  };

  ~TakeoverTest() override {
    for (auto& node : nodes_) {
      node->cable.thaw();
      node->cable.hear();
    }
    for (auto& node : nodes_) {
      run(node->groups->stop());
      run(node->log->stop());
    }
  }

  Node& start(BrokerId id) {
    nodes_.push_back(std::make_unique<Node>(log_));
    Node& node = *nodes_.back();
    node.id = id;
    metadata::LogCoordinatorOptions options{.broker_id = id};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    node.log = std::make_unique<LogCoordinator>(
        node.cable, nullptr, clock_, Rng(static_cast<std::uint64_t>(id)), context_.get_executor(),
        context_.get_executor(), options);
    node.groups = std::make_unique<GroupCoordinator>(
        *node.log, id, clock_, context_.get_executor(),
        GroupLimits{.initial_rebalance_delay = milliseconds(100)}, Rng(100));
    node.log->add_listener(*node.groups);
    node.log->start();
    EXPECT_TRUE(run(node.log->wait_registered()));
    EXPECT_TRUE(run(node.groups->start()));
    return node;
  }
  void start_three() {
    for (BrokerId id : {1, 2, 3}) start(id);
    EXPECT_TRUE(run(nodes_.front()->log->submit(
        metadata::CreateTopics{.topics = {{.name = "t", .id = kTopic, .partitions = 2}}})));
    settle();
  }
  // Until all that are connected have seen the same.
  void settle() {
    for (auto& node : nodes_) std::ignore = run(node->log->catch_up());
    run_for(milliseconds(20));
  }
  Node& node(BrokerId id) { return *nodes_.at(static_cast<std::size_t>(id - 1)); }
  Node& owner(const std::string& group) {
    return node(*metadata::live_owner(*nodes_[0]->log->image(), group));
  }
  // A name of a group that the broker owns as things are.
  std::string group_of(BrokerId id) {
    for (int i = 0;; ++i) {
      std::string name = "group-" + std::to_string(i);
      if (owner(name).id == id) return name;
    }
  }

  // ---- requests ----

  kafka::JoinGroupResponse join(Node& at, const std::string& group, const std::string& member) {
    return finish(begin_join(at, group, member));
  }
  Pending<kafka::JoinGroupResponse> begin_join(Node& at, const std::string& group,
                                               const std::string& member) {
    return begin([](Node& to, std::string group_id,
                    std::string id) -> Task<kafka::JoinGroupResponse> {
      kafka::JoinGroupRequest request;
      request.group_id = group_id;
      request.member_id = id;
      request.session_timeout_ms = 10'000;
      request.rebalance_timeout_ms = 60'000;
      request.protocol_type = "consumer";
      request.protocols.push_back({.name = "range", .metadata = as_bytes("m")});
      co_return co_await to.groups->join({.client_id = "client", .host = "/127.0.0.1"}, request, 9);
    }(at, group, member));
  }
  kafka::SyncGroupResponse sync(Node& at, const std::string& group, const std::string& member,
                                std::int32_t generation, std::string_view assignment) {
    kafka::SyncGroupRequest request;
    request.group_id = group;
    request.member_id = member;
    request.generation_id = generation;
    request.assignments.push_back({.member_id = member, .assignment = as_bytes(assignment)});
    return run(at.groups->sync(request, nullptr));
  }
  KafkaError heartbeat(Node& at, const std::string& group, const std::string& member,
                       std::int32_t generation) {
    kafka::HeartbeatRequest request;
    request.group_id = group;
    request.member_id = member;
    request.generation_id = generation;
    return run(at.groups->heartbeat(request)).error_code;
  }
  static Task<KafkaError> commit_task(Node& at, std::string group, std::string member,
                                      std::int32_t generation, Offset offset) {
    kafka::OffsetCommitRequest request;
    request.group_id = group;
    request.member_id = member;
    request.generation_id_or_member_epoch = generation;
    request.topics.push_back(
        {.name = "t",
         .partitions = {
             {.partition_index = 0, .committed_offset = offset, .committed_metadata = ""}}});
    PendingCommit pending = co_await at.groups->start_commit(request, 9);
    auto response = co_await pending.wait();
    co_return response.topics.at(0).partitions.at(0).error_code;
  }
  KafkaError commit(Node& at, const std::string& group, const std::string& member,
                    std::int32_t generation, Offset offset) {
    return run(commit_task(at, group, member, generation, offset));
  }
  static std::optional<Offset> committed(Node& at, const std::string& group) {
    auto image = at.log->group(group);
    const auto* offset = image ? image->offsets.find(TopicPartition{kTopic, 0}) : nullptr;
    return offset == nullptr ? std::nullopt : std::optional(offset->offset);
  }
  std::vector<std::string> list(Node& at) {
    std::vector<std::string> ids;
    for (const auto& group : run(at.groups->list({})).groups) ids.push_back(group.group_id);
    return ids;
  }
  // A group with one member, stable, assigned "A". Its member's id.
  std::string stable(Node& at, const std::string& group) {
    std::string member = join(at, group, "").member_id;
    auto joined = join(at, group, member);
    EXPECT_EQ(joined.error_code, KafkaError::kNone);
    EXPECT_EQ(joined.generation_id, 1);
    EXPECT_EQ(sync(at, group, member, 1, "A").error_code, KafkaError::kNone);
    return member;
  }
  void run_until_gone(BrokerId id) {
    run_until([&] {
      for (auto& other : nodes_) {
        if (other->id != id && other->log->image()->brokers.contains(id)) return false;
      }
      return true;
    });
    run_for(milliseconds(100));
  }

  std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_F(TakeoverTest, OneBrokerCoordinatesAGroupAndTheOthersSaySo) {
  start_three();
  std::string group = group_of(2);
  std::string member = stable(node(2), group);
  for (BrokerId other : {1, 3}) {
    Node& at = node(other);
    EXPECT_EQ(join(at, group, "").error_code, KafkaError::kNotCoordinator);
    EXPECT_EQ(sync(at, group, member, 1, "B").error_code, KafkaError::kNotCoordinator);
    EXPECT_EQ(heartbeat(at, group, member, 1), KafkaError::kNotCoordinator);
    EXPECT_EQ(commit(at, group, member, 1, 5), KafkaError::kNotCoordinator);
    kafka::LeaveGroupRequest leave;
    leave.group_id = group;
    leave.members.push_back({.member_id = member});
    EXPECT_EQ(run(at.groups->leave(leave, 5)).error_code, KafkaError::kNotCoordinator);
    kafka::DescribeGroupsRequest describe;
    describe.groups = {group};
    EXPECT_EQ(run(at.groups->describe(describe, 5)).groups.at(0).error_code,
              KafkaError::kNotCoordinator);
    kafka::DeleteGroupsRequest remove;
    remove.groups_names = {group};
    EXPECT_EQ(run(at.groups->remove(remove)).results.at(0).error_code, KafkaError::kNotCoordinator);
  }
  EXPECT_EQ(heartbeat(node(2), group, member, 1), KafkaError::kNone);
  EXPECT_EQ(commit(node(2), group, member, 1, 5), KafkaError::kNone);
}

TEST_F(TakeoverTest, ListsOfAllBrokersTogetherHaveEveryGroupOnce) {
  start_three();
  std::vector<std::string> made;
  for (int i = 0; i < 12; ++i) {
    made.push_back("group-" + std::to_string(i));
    ASSERT_EQ(commit(owner(made.back()), made.back(), "", -1, i), KafkaError::kNone);
  }
  settle();
  std::vector<std::string> listed;
  for (auto& at : nodes_) {
    for (std::string& id : list(*at)) listed.push_back(std::move(id));
  }
  std::ranges::sort(made);
  std::ranges::sort(listed);
  EXPECT_EQ(listed, made);
}

TEST_F(TakeoverTest, WhenTheOwnerDiesAnotherGoesOnWhereItWas) {
  start_three();
  std::string group = group_of(3);
  std::string member = stable(node(3), group);
  ASSERT_EQ(commit(node(3), group, member, 1, 42), KafkaError::kNone);
  node(3).cable.freeze();
  run_until_gone(3);
  Node& next = owner(group);
  ASSERT_NE(next.id, 3);
  // Neither generation nor membership is lost: the member need not even join again.
  EXPECT_EQ(heartbeat(next, group, member, 1), KafkaError::kNone);
  EXPECT_EQ(as_text(sync(next, group, member, 1, "").assignment.bytes()), "A");
  EXPECT_EQ(committed(next, group), 42);
  EXPECT_EQ(commit(next, group, member, 1, 43), KafkaError::kNone);
  EXPECT_EQ(next.log->group(group)->owner, next.id);
  EXPECT_EQ(list(next), std::vector<std::string>{group});
}

TEST_F(TakeoverTest, RequestsThatComeTogetherShareOneClaim) {
  start_three();
  std::string group = group_of(2);
  std::vector<Pending<KafkaError>> commits;
  for (int i = 0; i < 20; ++i) commits.push_back(begin(commit_task(node(2), group, "", -1, i)));
  for (auto& one : commits) EXPECT_EQ(finish(one), KafkaError::kNone);
  std::size_t claims = 0;
  for (const Slice& entry : log_.image().entries) {
    for (const metadata::Command& command : metadata::decode_record(entry)->commands)
      claims += std::holds_alternative<metadata::GroupClaim>(command) ? 1 : 0;
  }
  EXPECT_EQ(claims, 1U);
}

TEST_F(TakeoverTest, AMemberThatDoesNotComeBackExpiresAtTheNewOwner) {
  start_three();
  std::string group = group_of(3);
  std::string member = stable(node(3), group);
  node(3).cable.freeze();
  run_until_gone(3);
  Node& next = owner(group);
  EXPECT_EQ(next.log->group(group)->members->size(), 1U);
  run_for(seconds(11));
  run_until([&] { return next.log->group(group)->members->empty(); });
  EXPECT_EQ(heartbeat(next, group, member, 1), KafkaError::kUnknownMemberId);
}

TEST_F(TakeoverTest, WhatAStaleOwnerWritesIsRefused) {
  start_three();
  std::string group = group_of(3);
  std::string member = stable(node(3), group);
  ASSERT_EQ(commit(node(3), group, member, 1, 42), KafkaError::kNone);
  node(3).cable.freeze();
  auto late = begin(commit_task(node(3), group, member, 1, 1));
  run_until_gone(3);
  Node& next = owner(group);
  ASSERT_EQ(commit(next, group, member, 1, 50), KafkaError::kNone);
  node(3).cable.thaw();
  EXPECT_NE(finish(late), KafkaError::kNone);
  run_until([&] { return node(3).log->image()->brokers.contains(3); });
  settle();
  // Back in the cluster it is the owner again, and has what the other one made of the group.
  ASSERT_EQ(owner(group).id, 3);
  EXPECT_EQ(heartbeat(next, group, member, 1), KafkaError::kNotCoordinator);
  EXPECT_EQ(heartbeat(node(3), group, member, 1), KafkaError::kNone);
  EXPECT_EQ(committed(node(3), group), 50);
}

TEST_F(TakeoverTest, AClaimOfAnotherEndsWhatThisBrokerWrites) {
  start_three();
  std::string group = group_of(1);
  std::string member = stable(node(1), group);
  // Broker 2 does not know better, say, and broker 1 has not heard of it.
  node(1).cable.deafen();
  ASSERT_TRUE(run(node(2).log->submit(metadata::Heartbeat{})));
  settle();
  ASSERT_TRUE(run(node(2).log->submit(metadata::GroupClaim{.group = group})));
  ASSERT_EQ(node(1).log->group(group)->owner, 1);
  EXPECT_EQ(commit(node(1), group, member, 1, 9), KafkaError::kNotCoordinator);
  EXPECT_EQ(committed(node(1), group), std::nullopt);
  // The owner claims it anew with the next request.
  EXPECT_EQ(commit(node(1), group, member, 1, 10), KafkaError::kNone);
  EXPECT_EQ(node(1).log->group(group)->owner, 1);
}

TEST_F(TakeoverTest, AGroupMovesToABrokerThatComes) {
  start(1);
  start(2);
  EXPECT_TRUE(run(node(1).log->submit(
      metadata::CreateTopics{.topics = {{.name = "t", .id = kTopic, .partitions = 2}}})));
  settle();
  // Groups that will belong to 3.
  std::string stable_group, joining_group;
  std::vector<BrokerId> three = {1, 2, 3};
  metadata::ClusterImage later = *node(1).log->image();
  later.brokers[3] = {.id = 3};
  for (int i = 0; joining_group.empty(); ++i) {
    std::string name = "group-" + std::to_string(i);
    if (metadata::live_owner(later, name) != 3) continue;
    (stable_group.empty() ? stable_group : joining_group) = name;
  }
  Node& before = owner(stable_group);
  std::string member = stable(before, stable_group);
  ASSERT_EQ(commit(before, stable_group, member, 1, 7), KafkaError::kNone);
  // Somebody waits for a rebalance when it moves.
  Node& joined_at = owner(joining_group);
  std::string waiting_id = stable(joined_at, joining_group);
  std::string second = join(joined_at, joining_group, "").member_id;
  auto waiting = begin_join(joined_at, joining_group, second);
  poll();
  ASSERT_FALSE(waiting.done());

  start(3);
  settle();
  EXPECT_EQ(finish(waiting).error_code, KafkaError::kNotCoordinator);
  EXPECT_EQ(heartbeat(before, stable_group, member, 1), KafkaError::kNotCoordinator);
  EXPECT_EQ(heartbeat(node(3), stable_group, member, 1), KafkaError::kNone);
  EXPECT_EQ(committed(node(3), stable_group), 7);
  // The rebalance that was under way starts again there.
  auto again = begin_join(node(3), joining_group, waiting_id);
  EXPECT_EQ(finish(again).error_code, KafkaError::kNone);
  EXPECT_EQ(list(node(3)), (std::vector<std::string>{std::min(stable_group, joining_group),
                                                     std::max(stable_group, joining_group)}));
}

TEST_F(TakeoverTest, AGroupThatTheFormerOwnerJustMadeIsFound) {
  start_three();
  std::string group = group_of(3);
  // Nobody hears of it: not known to the others when the owner is gone.
  std::string member = stable(node(3), group);
  run(node(3).groups->stop());
  run(node(3).log->stop());
  Node* next = nullptr;
  run_until([&] {
    next = &node(1);
    return !next->log->image()->brokers.contains(3);
  });
  settle();
  EXPECT_EQ(heartbeat(owner(group), group, member, 1), KafkaError::kNone);
}

}  // namespace
}  // namespace weir::groups

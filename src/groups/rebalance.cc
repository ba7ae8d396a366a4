// The course of a rebalance: members join, the leader assigns, everybody syncs.
#include "groups/group_coordinator.h"
#include "runtime/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::groups {

using kafka::JoinGroupResponse;
using kafka::KafkaError;
using kafka::SyncGroupResponse;

void GroupCoordinator::prepare_or_complete(const GroupPtr& group) {
  if (group->is(GroupState::kPreparingRebalance)) {
    complete_join_if_all_here(group);
  } else if (!group->is(GroupState::kDead)) {
    prepare_rebalance(group);
  }
}

void GroupCoordinator::prepare_rebalance(const GroupPtr& group) {
  if (group->is(GroupState::kCompletingRebalance))
    fail_syncing(group, KafkaError::kRebalanceInProgress);
  if (group->rebalance_timer) group->rebalance_timer->cancel();
  bool is_first = group->is(GroupState::kEmpty);
  group->set_state(GroupState::kPreparingRebalance);
  if (is_first) {
    // A new group waits for more members, so that it does not rebalance with each of them.
    Duration delay = limits_.initial_rebalance_delay;
    Duration left = std::max(group->rebalance_timeout() - delay, Duration::zero());
    wait_for_more_members(group, delay, left);
    return;
  }
  if (group->has_all_joined()) {
    complete_join(group);
    return;
  }
  call_later(group, group->rebalance_timeout(), [this](const GroupPtr& late) {
    if (late->is(GroupState::kPreparingRebalance)) complete_join(late);
  });
}

void GroupCoordinator::wait_for_more_members(const GroupPtr& group, Duration delay, Duration left) {
  group->new_member_added = false;
  call_later(group, delay, [this, left](const GroupPtr& waiting) {
    if (!waiting->is(GroupState::kPreparingRebalance)) return;
    if (!waiting->new_member_added || left == Duration::zero()) return complete_join(waiting);
    Duration next = std::min(limits_.initial_rebalance_delay, left);
    wait_for_more_members(waiting, next, std::max(left - next, Duration::zero()));
  });
}

// The timer belongs to the group and so must not keep it: the group is looked up again.
void GroupCoordinator::call_later(const GroupPtr& group, Duration delay,
                                  std::move_only_function<void(const GroupPtr&)> action) {
  group->rebalance_timer =
      clock_.call_after(delay, executor_,
                        [this, alive = std::weak_ptr(alive_), weak = std::weak_ptr(group),
                         action = std::move(action)]() mutable {
                          GroupPtr late = weak.lock();
                          if (!alive.expired() && !is_stopped_ && late) action(late);
                        });
}

void GroupCoordinator::complete_join_if_all_here(const GroupPtr& group) {
  // The initial delay runs its course.
  if (!group->is(GroupState::kPreparingRebalance) || group->previous_state() == GroupState::kEmpty)
    return;
  if (group->has_all_joined()) complete_join(group);
}

void GroupCoordinator::complete_join(const GroupPtr& group) {
  if (group->rebalance_timer) group->rebalance_timer->cancel();
  std::vector<std::string> gone;
  for (const auto& [id, member] : group->members()) {
    if (!member.joining && !member.is_static()) gone.push_back(id);
  }
  for (const std::string& id : gone) {
    log::info("group.member.not_joined", {{"group", group->id()}, {"member", id}});
    remove_member(group, id);
  }
  if (!group->members().empty() && !group->elect_joined_leader()) {
    // Only static members that stay away are left; their sessions decide.
    call_later(group, group->rebalance_timeout(), [this](const GroupPtr& late) {
      if (late->is(GroupState::kPreparingRebalance)) complete_join(late);
    });
    return;
  }
  group->start_generation();
  if (group->is(GroupState::kEmpty)) {
    tasks_.spawn(executor_, write_empty(group));
    return;
  }
  answer_joined(group);
  expect_syncs(group);
}

void GroupCoordinator::answer_joined(const GroupPtr& group) {
  for (auto& [id, member] : group->members()) {
    if (!member.joining) continue;
    JoinReply reply = *member.joining;
    member.joining.reset();
    keep_alive(group, member);
    reply.set(group->joined(member));
  }
}

// Who has joined but does not ask for its assignment in time is removed.
void GroupCoordinator::expect_syncs(const GroupPtr& group) {
  std::int32_t generation = group->generation();
  call_later(group, group->rebalance_timeout(), [this, generation](const GroupPtr& waiting) {
    bool is_over =
        waiting->generation() != generation ||
        (!waiting->is(GroupState::kCompletingRebalance) && !waiting->is(GroupState::kStable));
    if (is_over) return;
    std::vector<std::string> silent;
    for (const auto& [id, member] : waiting->members()) {
      if (!member.has_synced) silent.push_back(id);
    }
    if (silent.empty()) return;
    for (const std::string& id : silent) {
      log::info("group.member.not_synced", {{"group", waiting->id()}, {"member", id}});
      remove_member(waiting, id);
    }
    prepare_rebalance(waiting);
  });
}

void GroupCoordinator::fail_syncing(const GroupPtr& group, KafkaError error) {
  group->assignments_memory.reset();
  for (auto& [id, member] : group->members()) {
    member.assignment = {};
    if (!member.syncing) continue;
    SyncGroupResponse response;
    response.error_code = error;
    member.syncing->set(std::move(response));
    member.syncing.reset();
    member.has_synced = false;
    if (!is_stopped_) keep_alive(group, member);
  }
}

// Hands the assignments to those that wait for them.
void GroupCoordinator::assign(const GroupPtr& group) {
  for (auto& [id, member] : group->members()) {
    if (!member.syncing) continue;
    SyncGroupResponse response;
    response.protocol_type = group->protocol_type();
    response.protocol_name = group->protocol();
    response.assignment = member.assignment;
    member.syncing->set(std::move(response));
    member.syncing.reset();
    keep_alive(group, member);
  }
}

void GroupCoordinator::remove_member(const GroupPtr& group, const std::string& member_id) {
  if (Member* member = group->find(member_id)) {
    if (member->joining) {
      JoinGroupResponse response;
      response.error_code = KafkaError::kUnknownMemberId;
      member->joining->set(std::move(response));
    }
    if (member->syncing) {
      SyncGroupResponse response;
      response.error_code = KafkaError::kUnknownMemberId;
      member->syncing->set(std::move(response));
    }
  }
  group->remove(member_id);
}

void GroupCoordinator::member_left(const GroupPtr& group) {
  switch (group->state()) {
    case GroupState::kStable:
    case GroupState::kCompletingRebalance:
      return prepare_rebalance(group);
    case GroupState::kPreparingRebalance:
      return complete_join_if_all_here(group);
    case GroupState::kEmpty:
    case GroupState::kDead:
      return;
  }
}

Task<void> GroupCoordinator::write_empty(GroupPtr group) {
  co_await write(group, group->commit_command());
}

// The leader's assignment goes to the log first: what members are told survives this broker.
Task<void> GroupCoordinator::write_assignment(GroupPtr group) {
  std::int32_t generation = group->generation();
  KafkaError error = co_await write(group, group->commit_command());
  bool is_over = !group->is(GroupState::kCompletingRebalance) || group->generation() != generation;
  if (is_over) co_return;
  if (error != KafkaError::kNone) {
    fail_syncing(group, error);
    prepare_rebalance(group);
    co_return;
  }
  group->set_state(GroupState::kStable);
  assign(group);
}

}  // namespace weir::groups

// SyncGroup, Heartbeat and LeaveGroup.
#include "groups/group_coordinator.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::groups {

using kafka::HeartbeatRequest;
using kafka::HeartbeatResponse;
using kafka::KafkaError;
using kafka::LeaveGroupRequest;
using kafka::LeaveGroupResponse;
using kafka::SyncGroupRequest;
using kafka::SyncGroupResponse;

namespace {

constexpr std::int16_t kLeaveManyVersion = 3;

std::optional<std::string> owned(const std::optional<std::string_view>& text) {
  if (!text) return std::nullopt;
  return std::string(*text);
}

SyncGroupResponse failed(KafkaError error) {
  SyncGroupResponse response;
  response.error_code = error;
  return response;
}

}  // namespace

Task<SyncGroupResponse> GroupCoordinator::sync(const SyncGroupRequest& request) {
  if (request.group_id.empty()) co_return failed(KafkaError::kInvalidGroupId);
  std::map<std::string, Slice> assignments;
  for (const auto& assignment : request.assignments) {
    assignments[std::string(assignment.member_id)] = Slice::copy_of(assignment.assignment);
  }
  co_return co_await boost::asio::co_spawn(
      executor_,
      do_sync(std::string(request.group_id), std::string(request.member_id), request.generation_id,
              owned(request.group_instance_id), owned(request.protocol_type),
              owned(request.protocol_name), std::move(assignments)),
      boost::asio::use_awaitable);
}

Task<SyncGroupResponse> GroupCoordinator::do_sync(std::string group_id, std::string member_id,
                                                  std::int32_t generation,
                                                  std::optional<std::string> instance_id,
                                                  std::optional<std::string> protocol_type,
                                                  std::optional<std::string> protocol_name,
                                                  std::map<std::string, Slice> assignments) {
  auto [error, group] = co_await hold(std::move(group_id), Missing::kIsNone);
  if (error != KafkaError::kNone) co_return failed(error);
  if (!group) co_return failed(KafkaError::kUnknownMemberId);
  error = group->check_member(member_id, instance_id);
  if (error == KafkaError::kNone && generation != group->generation())
    error = KafkaError::kIllegalGeneration;
  bool is_other_protocol = (protocol_type && *protocol_type != group->protocol_type()) ||
                           (protocol_name && *protocol_name != group->protocol());
  if (error == KafkaError::kNone && is_other_protocol)
    error = KafkaError::kInconsistentGroupProtocol;
  if (error != KafkaError::kNone) co_return failed(error);
  Member& member = *group->find(member_id);
  SyncReply reply;
  switch (group->state()) {
    case GroupState::kPreparingRebalance:
      co_return failed(KafkaError::kRebalanceInProgress);
    case GroupState::kEmpty:
    case GroupState::kDead:
      co_return failed(KafkaError::kUnknownMemberId);
    case GroupState::kStable:
      member.has_synced = true;
      member.syncing = reply;
      assign(group);
      break;
    case GroupState::kCompletingRebalance:
      if (member.syncing) member.syncing->set(failed(KafkaError::kRebalanceInProgress));
      member.has_synced = true;
      member.syncing = reply;
      if (member_id == group->leader()) {
        for (auto& [id, other] : group->members()) other.assignment = assignments[id];
        tasks_.spawn(executor_, write_assignment(group));
      }
      break;
  }
  co_return co_await reply.wait();
}

Task<HeartbeatResponse> GroupCoordinator::heartbeat(const HeartbeatRequest& request) {
  auto beat = [](GroupCoordinator* self, std::string group_id, std::string member_id,
                 std::int32_t generation,
                 std::optional<std::string> instance_id) -> Task<KafkaError> {
    if (group_id.empty()) co_return KafkaError::kInvalidGroupId;
    auto [error, group] = co_await self->hold(std::move(group_id), Missing::kIsNone);
    if (error != KafkaError::kNone) co_return error;
    if (!group || group->is(GroupState::kEmpty)) co_return KafkaError::kUnknownMemberId;
    error = group->check_member(member_id, instance_id);
    if (error != KafkaError::kNone) co_return error;
    if (generation != group->generation()) co_return KafkaError::kIllegalGeneration;
    self->keep_alive(group, *group->find(member_id));
    co_return group->is(GroupState::kPreparingRebalance) ? KafkaError::kRebalanceInProgress
                                                         : KafkaError::kNone;
  };
  HeartbeatResponse response;
  response.error_code = co_await boost::asio::co_spawn(
      executor_,
      beat(this, std::string(request.group_id), std::string(request.member_id),
           request.generation_id, owned(request.group_instance_id)),
      boost::asio::use_awaitable);
  co_return response;
}

KafkaError GroupCoordinator::leave_one(const GroupPtr& group, std::string member_id,
                                       std::optional<std::string> instance_id) {
  if (!group || group->is(GroupState::kDead)) return KafkaError::kUnknownMemberId;
  if (member_id.empty() && instance_id) member_id = group->static_member(*instance_id).value_or("");
  if (group->pending_ids().contains(member_id)) {
    group->pending_ids().erase(member_id);
    return KafkaError::kNone;
  }
  KafkaError error = group->check_member(member_id, instance_id);
  if (error == KafkaError::kNone) remove_member(group, member_id);
  return error;
}

Task<LeaveGroupResponse> GroupCoordinator::leave(const LeaveGroupRequest& request,
                                                 std::int16_t version) {
  struct Leaver {
    std::string member_id;
    std::optional<std::string> instance_id;
  };
  std::vector<Leaver> leavers;
  if (version < kLeaveManyVersion) leavers.push_back({.member_id = std::string(request.member_id)});
  for (const auto& member : request.members) {
    leavers.push_back({.member_id = std::string(member.member_id),
                       .instance_id = owned(member.group_instance_id)});
  }
  auto leave_all =
      [](GroupCoordinator* self, std::string group_id,
         std::vector<Leaver> who) -> Task<std::expected<std::vector<KafkaError>, KafkaError>> {
    auto [error, group] = co_await self->hold(std::move(group_id), Missing::kIsNone);
    if (error != KafkaError::kNone) co_return std::unexpected(error);
    std::vector<KafkaError> errors;
    for (Leaver& leaver : who)
      errors.push_back(self->leave_one(group, leaver.member_id, leaver.instance_id));
    bool has_left = std::ranges::find(errors, KafkaError::kNone) != errors.end();
    if (has_left) self->member_left(group);
    co_return errors;
  };
  LeaveGroupResponse response;
  if (request.group_id.empty()) {
    response.error_code = KafkaError::kInvalidGroupId;
    co_return response;
  }
  auto errors = co_await boost::asio::co_spawn(
      executor_, leave_all(this, std::string(request.group_id), leavers),
      boost::asio::use_awaitable);
  if (!errors || version < kLeaveManyVersion) {
    response.error_code = errors ? errors->front() : errors.error();
    co_return response;
  }
  for (std::size_t i = 0; i < leavers.size(); ++i) {
    response.members.push_back({.member_id = leavers[i].member_id,
                                .group_instance_id = leavers[i].instance_id,
                                .error_code = (*errors)[i]});
  }
  co_return response;
}

}  // namespace weir::groups

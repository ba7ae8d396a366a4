// SyncGroup, Heartbeat and LeaveGroup.
#include "groups/group_coordinator.h"
#include "runtime/log.h"

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

// What a generation may take in the log: its members' names, subscriptions and assignments. Kafka
// keeps all that in one record of its offsets topic, 1 MiB at most unless that topic is configured
// otherwise, and answers UNKNOWN_SERVER_ERROR beyond it, which its clients report.
constexpr ByteCount kGenerationMaxBytes = 8_MiB;

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

Task<SyncGroupResponse> GroupCoordinator::sync(const SyncGroupRequest& request,
                                               std::shared_ptr<const void> reservation) {
  Syncer syncer{.group_id = std::string(request.group_id),
                .member_id = std::string(request.member_id),
                .generation = request.generation_id,
                .instance_id = owned(request.group_instance_id),
                .protocol_type = owned(request.protocol_type),
                .protocol_name = owned(request.protocol_name),
                .assignments = {},
                .reservation = std::move(reservation)};
  for (const auto& assignment : request.assignments) {
    syncer.assignments[std::string(assignment.member_id)] = Slice::copy_of(assignment.assignment);
  }
  return boost::asio::co_spawn(executor_, do_sync(std::move(syncer)), boost::asio::use_awaitable);
}

Task<SyncGroupResponse> GroupCoordinator::do_sync(Syncer syncer) {
  if (syncer.group_id.empty()) co_return failed(KafkaError::kInvalidGroupId);
  auto [error, group] = co_await hold(syncer.group_id, Missing::kIsNone);
  if (error == KafkaError::kNone)
    error = group ? check_sync(*group, syncer) : KafkaError::kUnknownMemberId;
  if (error != KafkaError::kNone) co_return failed(error);
  Member& member = *group->find(syncer.member_id);
  SyncReply reply;
  if (member.syncing) member.syncing->set(failed(KafkaError::kRebalanceInProgress));
  member.has_synced = true;
  member.syncing = reply;
  if (group->is(GroupState::kStable)) {
    assign(group);
  } else if (syncer.member_id == group->leader()) {
    error = set_assignments(*group, syncer.assignments);
    if (error == KafkaError::kNone) {
      tasks_.spawn(executor_, write_assignment(group));
    } else {
      fail_syncing(group, error);
      prepare_rebalance(group);
    }
  }
  // The wait may last: what the request was must not take memory until then.
  syncer = Syncer{};
  co_return co_await reply.wait();
}

KafkaError GroupCoordinator::check_sync(const Group& group, const Syncer& syncer) {
  KafkaError error = group.check_member(syncer.member_id, syncer.instance_id);
  if (error != KafkaError::kNone) return error;
  if (syncer.generation != group.generation()) return KafkaError::kIllegalGeneration;
  bool is_other_protocol =
      (syncer.protocol_type && *syncer.protocol_type != group.protocol_type()) ||
      (syncer.protocol_name && *syncer.protocol_name != group.protocol());
  if (is_other_protocol) return KafkaError::kInconsistentGroupProtocol;
  switch (group.state()) {
    case GroupState::kPreparingRebalance:
      return KafkaError::kRebalanceInProgress;
    case GroupState::kEmpty:
    case GroupState::kDead:
      return KafkaError::kUnknownMemberId;
    case GroupState::kStable:
    case GroupState::kCompletingRebalance:
      return KafkaError::kNone;
  }
  return KafkaError::kUnknownMemberId;
}

// After an error nobody keeps what was assigned: fail_syncing() follows.
KafkaError GroupCoordinator::set_assignments(Group& group,
                                             std::map<std::string, Slice>& assignments) {
  for (auto& [id, member] : group.members()) member.assignment = std::move(assignments[id]);
  const ByteCount logged = group.logged_bytes();
  if (logged > kGenerationMaxBytes) {
    static log::RateLimit limit(std::chrono::seconds(10));
    log::warn(limit, "group.assignment.too.large",
              {{"group", group.id()},
               {"bytes", logged},
               {"limit", kGenerationMaxBytes},
               {"mend", "fewer members, or shorter subscriptions and assignments"}});
    return KafkaError::kUnknownServerError;
  }
  group.assignments_memory.reset();
  group.assignments_memory = reserve_memory(group.assignments_bytes());
  return group.assignments_memory ? KafkaError::kNone : KafkaError::kCoordinatorNotAvailable;
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
      [](GroupCoordinator* self, std::string asked,
         std::vector<Leaver> who) -> Task<std::expected<std::vector<KafkaError>, KafkaError>> {
    auto [error, group] = co_await self->hold(asked, Missing::kIsNone);
    if (error != KafkaError::kNone) co_return std::unexpected(error);
    if (!group) group = self->draft(asked);
    std::vector<KafkaError> errors;
    for (Leaver& leaver : who)
      errors.push_back(self->leave_one(group, leaver.member_id, leaver.instance_id));
    self->drop_if_bare(group);
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

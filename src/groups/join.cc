// JoinGroup.
#include "groups/group_coordinator.h"
#include "runtime/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::groups {

using kafka::JoinGroupRequest;
using kafka::JoinGroupResponse;
using kafka::KafkaError;

namespace {

constexpr std::int16_t kKnownMemberVersion =
    4;  // from it on, a member gets its id before it joins (KIP-394)
constexpr std::int16_t kSkipAssignmentVersion = 9;  // KIP-814

constexpr std::size_t kMaxProtocols = 1'000;

// What an id takes that was handed out, with its timer and the draft of a group that it may have
// made, besides its own and the group's name in some places.
constexpr ByteCount kPendingIdBytes = 2_KiB;
constexpr ByteCount kPendingIdCopies = 8;

JoinGroupResponse failed(KafkaError error, std::string member_id = {}) {
  JoinGroupResponse response;
  response.error_code = error;
  response.member_id = std::move(member_id);
  return response;
}

Task<JoinGroupResponse> failing(KafkaError error, std::string member_id) {
  co_return failed(error, std::move(member_id));
}

}  // namespace

Task<JoinGroupResponse> GroupCoordinator::join(GroupClient client, const JoinGroupRequest& request,
                                               std::int16_t version) {
  auto refused = [&](KafkaError error) { return failing(error, std::string(request.member_id)); };
  if (request.group_id.empty()) return refused(KafkaError::kInvalidGroupId);
  if (request.session_timeout_ms < limits_.min_session_timeout_ms ||
      request.session_timeout_ms > limits_.max_session_timeout_ms) {
    return refused(KafkaError::kInvalidSessionTimeout);
  }
  if (request.protocols.size() > kMaxProtocols)
    return refused(KafkaError::kInconsistentGroupProtocol);
  Joiner joiner;
  joiner.client = std::move(client);
  if (request.group_instance_id) joiner.instance_id = std::string(*request.group_instance_id);
  joiner.member_id = std::string(request.member_id);
  joiner.session_timeout_ms = request.session_timeout_ms;
  // Version 0 has one timeout for both.
  joiner.rebalance_timeout_ms =
      version == 0 ? request.session_timeout_ms : request.rebalance_timeout_ms;
  joiner.protocol_type = std::string(request.protocol_type);
  joiner.version = version;
  for (const auto& protocol : request.protocols) {
    joiner.protocols.push_back(
        {.name = std::string(protocol.name), .metadata = Slice::copy_of(protocol.metadata)});
  }
  return boost::asio::co_spawn(executor_, do_join(std::move(joiner), std::string(request.group_id)),
                               boost::asio::use_awaitable);
}

ByteBudget::Reservation GroupCoordinator::reserve_memory(ByteCount bytes) {
  ByteBudget::Reservation memory = member_memory_.try_reserve(bytes);
  if (!memory) {
    static log::RateLimit limit(std::chrono::seconds(10));
    log::warn(limit, "groups.memory.full",
              {{"used", member_memory_.used()},
               {"asked", bytes},
               {"limit", member_memory_.limit()},
               {"mend", "fewer members or shorter subscriptions, or more memory.budget.bytes"}});
  }
  return memory;
}

Task<JoinGroupResponse> GroupCoordinator::do_join(Joiner joiner, std::string group_id) {
  Held own = co_await hold(group_id, Missing::kIsNone);
  if (own.error == KafkaError::kNone && !own.group) own = co_await make_for(group_id, joiner);
  auto& [error, group] = own;
  if (error == KafkaError::kNone) error = check_join(group, joiner);
  if (error == KafkaError::kNone && !take_memory(*group, joiner))
    error = KafkaError::kCoordinatorNotAvailable;
  if (error != KafkaError::kNone) co_return failed(error, joiner.member_id);
  JoinReply reply = joiner.reply;
  if (joiner.member_id.empty()) {
    join_new(group, joiner);
  } else {
    join_known(group, joiner);
  }
  // From here on the member has its memory.
  joiner = Joiner{};
  co_return co_await reply.wait();
}

// A group that the log does not have. It comes there with the first member that is let in: what is
// refused, or is only given an id, leaves nothing in the log.
Task<GroupCoordinator::Held> GroupCoordinator::make_for(const std::string& group_id,
                                                        Joiner& joiner) {
  GroupPtr begun = draft(group_id);
  if (!begun) begun = std::make_shared<Group>(group_id);
  if (!joiner.member_id.empty() && !begun->is_pending(joiner.member_id))
    co_return Held{KafkaError::kUnknownMemberId, nullptr};
  KafkaError error = check_join(begun, joiner);
  if (error == KafkaError::kNone && !take_memory(*begun, joiner))
    error = KafkaError::kCoordinatorNotAvailable;
  if (error != KafkaError::kNone) co_return Held{error, nullptr};
  if (is_given_id_first(joiner)) co_return Held{KafkaError::kNone, begun};
  co_return co_await hold(group_id, Missing::kIsMade);
}

KafkaError GroupCoordinator::check_join(const GroupPtr& group, const Joiner& joiner) const {
  if (group->is(GroupState::kDead)) return KafkaError::kCoordinatorNotAvailable;
  if (!has_room(*group, joiner.member_id)) return KafkaError::kGroupMaxSizeReached;
  if (!group->supports(joiner.protocol_type, joiner.protocols, joiner.member_id))
    return KafkaError::kInconsistentGroupProtocol;
  bool is_new =
      joiner.member_id.empty() || (!joiner.instance_id && group->is_pending(joiner.member_id));
  return is_new ? KafkaError::kNone : group->check_member(joiner.member_id, joiner.instance_id);
}

// What a member said before makes room for what it says now.
bool GroupCoordinator::take_memory(Group& group, Joiner& joiner) {
  Member* known = group.find(joiner.member_id);
  joiner.memory.reset();
  if (known == nullptr) {
    std::size_t names = group.id().size() + joiner.member_id.size() +
                        joiner.instance_id.value_or("").size() + joiner.client.client_id.size() +
                        joiner.client.host.size();
    joiner.memory = reserve_memory(member_bytes(names, joiner.protocols));
    return joiner.memory != nullptr;
  }
  // It keeps its names, whatever this request's are.
  const ByteCount before = group.bytes_of(*known);
  const ByteCount names = before - member_bytes(0, known->protocols);
  known->memory.reset();
  joiner.memory = reserve_memory(names + member_bytes(0, joiner.protocols));
  // Refused, it has what it had: there is room, which has just been given back.
  known->memory = joiner.memory ? joiner.memory : member_memory_.try_reserve(before);
  return joiner.memory != nullptr;
}

bool GroupCoordinator::has_room(const Group& group, std::string_view member_id) const {
  if (group.members().contains(std::string(member_id))) return true;
  std::size_t taken =
      group.is(GroupState::kPreparingRebalance) ? group.joining_count() : group.members().size();
  return taken < limits_.max_size;
}

void GroupCoordinator::join_new(const GroupPtr& group, Joiner& joiner) {
  if (joiner.instance_id) {
    if (auto old_id = group->static_member(*joiner.instance_id))
      return join_returning_static(group, joiner, *old_id);
    return add_member(group, joiner, new_member_id(joiner.instance_id, joiner.client.client_id));
  }
  if (is_given_id_first(joiner)) return give_member_id(group, joiner);
  add_member(group, joiner, new_member_id(std::nullopt, joiner.client.client_id));
}

bool GroupCoordinator::is_given_id_first(const Joiner& joiner) {
  return joiner.member_id.empty() && !joiner.instance_id && joiner.version >= kKnownMemberVersion;
}

void GroupCoordinator::give_member_id(const GroupPtr& group, Joiner& joiner) {
  std::string id = new_member_id(std::nullopt, joiner.client.client_id);
  joiner.memory.reset();
  ByteBudget::Reservation memory =
      reserve_memory(kPendingIdBytes + kPendingIdCopies * (id.size() + group->id().size()));
  if (!memory) return joiner.reply.set(failed(KafkaError::kCoordinatorNotAvailable));
  ScopedTimer lapse = watch_pending_id(group->id(), id, joiner.session_timeout_ms);
  group->pending_ids()[id] = {.memory = std::move(memory), .lapse = std::move(lapse)};
  if (group->claim < 0) drafts_[group->id()] = group;
  joiner.reply.set(failed(KafkaError::kMemberIdRequired, id));
}

void GroupCoordinator::join_known(const GroupPtr& group, Joiner& joiner) {
  if (!joiner.instance_id && group->is_pending(joiner.member_id))
    return add_member(group, joiner, joiner.member_id);
  Member& member = *group->find(joiner.member_id);
  bool is_same = same_protocols(member.protocols, joiner.protocols);
  switch (group->state()) {
    case GroupState::kPreparingRebalance:
      return update_member(group, member, joiner);
    case GroupState::kCompletingRebalance:
      // It did not hear the answer to its join: the answer is still right.
      if (!is_same) return update_member(group, member, joiner);
      break;
    case GroupState::kStable:
      // The leader joins again to have the partitions assigned anew; the others only when they want
      // something else.
      if (!is_same || member.id == group->leader()) return update_member(group, member, joiner);
      break;
    case GroupState::kEmpty:
    case GroupState::kDead:
      return joiner.reply.set(failed(KafkaError::kUnknownMemberId, joiner.member_id));
  }
  keep_alive(group, member);
  joiner.reply.set(group->joined(member));
}

// A static member that lost its id (KIP-345): it gets a new one and, if the group's protocol stays,
// its old place.
void GroupCoordinator::join_returning_static(const GroupPtr& group, Joiner& joiner,
                                             const std::string& old_id) {
  std::string old_leader = group->leader();
  std::string id = new_member_id(joiner.instance_id, joiner.client.client_id);
  Member& member = group->rename(old_id, id);
  member.client_id = joiner.client.client_id;
  member.client_host = joiner.client.host;
  if (!group->is(GroupState::kStable)) return update_member(group, member, joiner);
  std::string protocol = group->protocol();
  group->set_protocols(member, joiner.protocols);
  member.memory = joiner.memory;
  member.session_timeout_ms = joiner.session_timeout_ms;
  member.rebalance_timeout_ms = joiner.rebalance_timeout_ms;
  // As in Kafka, other metadata alone is no reason: what a consumer owned before it restarted is
  // part of it.
  if (group->choose_protocol() != protocol) return update_member(group, member, joiner);
  keep_alive(group, member);
  tasks_.spawn(executor_,
               finish_static_return(group, id, old_leader, joiner.version, joiner.reply));
}

Task<void> GroupCoordinator::finish_static_return(GroupPtr group, std::string member_id,
                                                  std::string old_leader, std::int16_t version,
                                                  JoinReply reply) {
  // The new id must be in the log before the member uses it.
  KafkaError error = co_await write(group, group->commit_command());
  Member* member = group->find(member_id);
  if (error == KafkaError::kNone && member == nullptr) error = KafkaError::kUnknownMemberId;
  if (error != KafkaError::kNone) {
    reply.set(failed(error, member_id));
    co_return;
  }
  JoinGroupResponse response = group->joined(*member);
  bool is_leader = member_id == group->leader();
  if (version >= kSkipAssignmentVersion) {
    response.skip_assignment = is_leader;
  } else {
    // Older clients would assign anew if they were told that they lead: they hear of the leader's
    // former id.
    response.members.clear();
    response.leader = old_leader;
  }
  reply.set(std::move(response));
}

void GroupCoordinator::add_member(const GroupPtr& group, Joiner& joiner,
                                  const std::string& member_id) {
  Member member;
  member.id = member_id;
  member.instance_id = joiner.instance_id;
  member.client_id = joiner.client.client_id;
  member.client_host = joiner.client.host;
  member.session_timeout_ms = joiner.session_timeout_ms;
  member.rebalance_timeout_ms = joiner.rebalance_timeout_ms;
  member.protocols = joiner.protocols;
  member.memory = joiner.memory;
  member.is_new = true;
  member.joining = joiner.reply;
  Member& added = group->add(std::move(member), joiner.protocol_type);
  group->new_member_added = true;
  keep_alive(group, added);
  prepare_or_complete(group);
}

void GroupCoordinator::update_member(const GroupPtr& group, Member& member, Joiner& joiner) {
  group->set_protocols(member, joiner.protocols);
  member.memory = joiner.memory;
  member.session_timeout_ms = joiner.session_timeout_ms;
  member.rebalance_timeout_ms = joiner.rebalance_timeout_ms;
  // A second join while the first still waits: the first is answered as one that was overtaken.
  if (member.joining) member.joining->set(failed(KafkaError::kRebalanceInProgress, member.id));
  member.joining = joiner.reply;
  keep_alive(group, member);
  prepare_or_complete(group);
}

}  // namespace weir::groups

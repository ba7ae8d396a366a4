#include "sim/group_member.h"

#include "kafka/protocol/messages/heartbeat.h"
#include "kafka/protocol/messages/join_group.h"
#include "kafka/protocol/messages/leave_group.h"
#include "kafka/protocol/messages/offset_commit.h"
#include "kafka/protocol/messages/sync_group.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

using kafka::KafkaError;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int32_t kSessionMs = 4000;
constexpr std::int32_t kRebalanceMs = 3000;
constexpr std::string_view kProtocolType = "consumer";
constexpr std::string_view kProtocol = "in turn";

// The member id is of no use any more.
bool is_over(KafkaError error) {
  return error == KafkaError::kUnknownMemberId || error == KafkaError::kFencedInstanceId;
}

}  // namespace

GroupMember::GroupMember(ClientParts parts, std::string group, int number)
    : parts_(std::move(parts)),
      group_id_(std::move(group)),
      name_(fmt::format("{}-{}", group_id_, number)),
      machine_(parts_.world.add_machine()),
      rng_(parts_.world.fork()),
      instance_(rng_.below(3) == 0 ? name_ : ""),
      coordinator_(parts_.world, machine_, parts_.weather, parts_.nodes),
      link_(parts_.world, machine_, parts_.weather, parts_.nodes),
      reader_(parts_, true),
      partitions_(partitions_of(parts_.partitions, kOrders)) {}

Task<void> GroupMember::run() {
  while (!tasks_.stopping()) {
    doing_ = "looks for its coordinator";
    bool joined = co_await find_coordinator(coordinator_, group_id_);
    doing_ = "joins";
    joined = joined && co_await join();
    doing_ = "syncs";
    joined = joined && co_await sync();
    doing_ = "loads its offsets";
    joined = joined && co_await load_offsets();
    if (joined) {
      co_await work();
    } else {
      co_await tasks_.sleep(machine_.clock(), milliseconds(50 + rng_.below(200)));
    }
  }
}

std::optional<std::string_view> GroupMember::instance() const {
  if (instance_.empty()) return std::nullopt;
  return instance_;
}

void GroupMember::forget_membership() {
  member_.clear();
  generation_ = -1;
}

Task<bool> GroupMember::join() {
  kafka::JoinGroupRequest request;
  request.group_id = group_id_;
  request.session_timeout_ms = kSessionMs;
  request.rebalance_timeout_ms = kRebalanceMs;
  request.member_id = member_;
  request.group_instance_id = instance();
  request.protocol_type = kProtocolType;
  request.protocols.push_back({.name = kProtocol, .metadata = as_bytes(name_)});
  auto response = co_await coordinator_.call<kafka::JoinGroupResponse>(request, 7);
  if (!response) co_return false;
  parts_.world.tell(group_id_, [&] {
    return fmt::format("{} joins as '{}' at broker {}: {}, generation {}, leader {}", name_,
                       response->member_id, coordinator_.broker(),
                       kafka::to_string(response->error_code), response->generation_id,
                       response->leader);
  });
  if (response->error_code == KafkaError::kMemberIdRequired) member_ = response->member_id;
  if (is_over(response->error_code)) forget_membership();
  if (response->error_code != KafkaError::kNone) co_return false;
  member_ = response->member_id;
  generation_ = response->generation_id;
  members_.clear();
  for (const auto& member : response->members) members_.push_back(member.member_id);
  std::ranges::sort(members_);
  co_return true;
}

void GroupMember::tell_of_join() {
  const Joined joined{.group = group_id_,
                      .instance = instance_,
                      .member = member_,
                      .at = parts_.history.next_moment()};
  parts_.history.tell([&](Checker& checker) { checker.on_joined(joined); });
  if (!ghost_ || ghost_->member == member_ || is_committing_) return;
  std::vector<std::pair<Where, Offset>> offsets;
  for (const Where& where : assigned_) offsets.emplace_back(where, reader_.position(where));
  const Ghost ghost = *std::exchange(ghost_, std::nullopt);
  if (offsets.empty()) return;
  is_committing_ = true;
  tasks_.spawn(machine_.executor(), send_commit(coordinator_.broker(), ghost.generation,
                                                ghost.member, std::move(offsets)));
}

// The numbers of the partitions, a byte each.
std::vector<std::byte> GroupMember::encode_assignment(std::size_t member,
                                                      std::size_t members) const {
  std::vector<std::byte> out;
  for (std::size_t i = member; i < partitions_.size(); i += members)
    out.push_back(static_cast<std::byte>(partitions_[i].partition));
  return out;
}

Task<bool> GroupMember::sync() {
  kafka::SyncGroupRequest request;
  request.group_id = group_id_;
  request.generation_id = generation_;
  request.member_id = member_;
  request.group_instance_id = instance();
  std::vector<std::vector<std::byte>> parts;
  for (std::size_t i = 0; i < members_.size(); ++i)
    parts.push_back(encode_assignment(i, members_.size()));
  for (std::size_t i = 0; i < members_.size(); ++i)
    request.assignments.push_back({.member_id = members_[i], .assignment = parts[i]});
  auto response = co_await coordinator_.call<kafka::SyncGroupResponse>(request, 3);
  if (!response) co_return false;
  if (is_over(response->error_code)) forget_membership();
  if (response->error_code != KafkaError::kNone) co_return false;
  Assignment told{.group = group_id_,
                  .generation = generation_,
                  .member = member_,
                  .instance = instance_,
                  .partitions = {},
                  .at = parts_.history.next_moment()};
  assigned_.clear();
  for (std::byte partition : response->assignment.bytes()) {
    told.partitions.push_back(static_cast<PartitionIndex>(partition));
    assigned_.push_back({kOrders, told.partitions.back()});
  }
  ++parts_.history.rebalances;
  parts_.world.tell(group_id_, [&] {
    return fmt::format("{} gets {} partitions in generation {}", name_, assigned_.size(),
                       generation_);
  });
  parts_.history.tell([&](Checker& checker) { checker.on_assigned(told); });
  // Not before: a broker that has lost the group may let it join, and forget it.
  if (!instance_.empty()) tell_of_join();
  co_return true;
}

Task<bool> GroupMember::load_offsets() {
  if (assigned_.empty()) co_return true;
  // It may have joined the same generation again: what it still commits there would come after what
  // it is told now, and it would go on below that, as no client does that commits on the connection
  // it joins on.
  while (is_committing_) {
    if (!co_await tasks_.sleep(machine_.clock(), milliseconds(20))) co_return false;
  }
  auto offsets = co_await read_committed(parts_, coordinator_, group_id_, assigned_);
  if (!offsets) co_return false;
  for (std::size_t i = 0; i < assigned_.size(); ++i)
    reader_.seek(assigned_[i], std::max<Offset>((*offsets)[i], 0));
  co_return true;
}

Task<void> GroupMember::work() {
  doing_ = "works";
  while (!tasks_.stopping()) {
    const bool is_idle = assigned_.empty() || !co_await reader_.fetch(link_, assigned_, 4096, 50);
    if (is_idle) link_.choose();
    if (rng_.below(2) == 0) commit();
    if (!is_calm_ && rng_.below(150) == 0) {
      // Long enough to be thrown out; it does not know, and commits.
      co_await tasks_.sleep(machine_.clock(), milliseconds(kSessionMs + rng_.below(4000)));
      commit();
    }
    if (!is_calm_ && rng_.below(150) == 0) co_return co_await leave();
    if (std::exchange(has_no_coordinator_, false)) {
      // Whoever answered does not know the log's end, perhaps: another one may.
      coordinator_.choose();
      co_await find_coordinator(coordinator_, group_id_);
    }
    if (!co_await heartbeat()) co_return;
    co_await tasks_.sleep(machine_.clock(), milliseconds(100 + rng_.below(300)));
  }
}

Task<bool> GroupMember::heartbeat() {
  kafka::HeartbeatRequest request;
  request.group_id = group_id_;
  request.generation_id = generation_;
  request.member_id = member_;
  request.group_instance_id = instance();
  auto response = co_await coordinator_.call<kafka::HeartbeatResponse>(request, 3);
  if (!response) {
    co_await find_coordinator(coordinator_, group_id_);
    co_return true;
  }
  switch (response->error_code) {
    case KafkaError::kNone:
      co_return true;
    case KafkaError::kRebalanceInProgress:
      // What it has read counts; the answer may come when it has joined again.
      commit();
      co_return false;
    case KafkaError::kUnknownMemberId:
    case KafkaError::kIllegalGeneration:
    case KafkaError::kFencedInstanceId:
      forget_membership();
      co_return false;
    default:
      co_await find_coordinator(coordinator_, group_id_);
      co_return true;
  }
}

// A static member just ends, and comes back in time or not; what it was may still be at work then.
Task<void> GroupMember::leave() {
  if (!instance_.empty()) {
    if (rng_.below(2) == 0) ghost_ = Ghost{.member = member_, .generation = generation_};
    parts_.world.tell(group_id_, [&] { return fmt::format("{} ends", name_); });
    forget_membership();
    co_return static_cast<void>(
        co_await tasks_.sleep(machine_.clock(), milliseconds(rng_.below(2 * kSessionMs))));
  }
  kafka::LeaveGroupRequest request;
  request.group_id = group_id_;
  request.members.push_back({.member_id = member_});
  std::ignore = co_await coordinator_.call<kafka::LeaveGroupResponse>(request, 3);
  parts_.world.tell(group_id_, [&] { return fmt::format("{} leaves", name_); });
  forget_membership();
  co_await tasks_.sleep(machine_.clock(), milliseconds(rng_.below(3000)));
}

// One at a time, so that its commits do not overtake each other.
void GroupMember::commit() {
  if (is_committing_) return;
  std::vector<std::pair<Where, Offset>> offsets;
  for (const Where& where : assigned_) offsets.emplace_back(where, reader_.position(where));
  if (offsets.empty()) return;
  is_committing_ = true;
  tasks_.spawn(machine_.executor(),
               send_commit(coordinator_.broker(), generation_, member_, std::move(offsets)));
}

// On a connection of its own: it may come after what the member asks next.
Task<void> GroupMember::send_commit(BrokerId coordinator, std::int32_t generation,
                                    std::string member,
                                    std::vector<std::pair<Where, Offset>> offsets) {
  if (!is_calm_ && rng_.below(4) == 0)
    co_await tasks_.sleep(machine_.clock(), milliseconds(rng_.below(2000)));
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  link.choose(coordinator);
  kafka::OffsetCommitRequest request;
  request.group_id = group_id_;
  request.generation_id_or_member_epoch = generation;
  request.member_id = member;
  request.group_instance_id = instance();
  auto& topic = request.topics.emplace_back();
  topic.name = topic_name(kOrders);
  for (const auto& [where, offset] : offsets)
    topic.partitions.push_back({.partition_index = where.partition, .committed_offset = offset});
  const Moment sent = parts_.history.next_moment();
  const MonoTime lasts_until = parts_.history.lasts_until();
  auto response = co_await link.call<kafka::OffsetCommitResponse>(request, 8);
  is_committing_ = false;
  if (!response) co_return;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const KafkaError error = response->topics.at(0).partitions.at(i).error_code;
    parts_.world.tell(group_id_, [&] {
      return fmt::format("{}, generation {}, commits {} of {} at broker {}: {}", name_, generation,
                         offsets[i].second, to_string(offsets[i].first), coordinator,
                         kafka::to_string(error));
    });
    has_no_coordinator_ |=
        error == KafkaError::kNotCoordinator || error == KafkaError::kCoordinatorNotAvailable;
    if (error != KafkaError::kNone) continue;
    const Commit commit{.group = group_id_,
                        .generation = generation,
                        .member = member,
                        .instance = instance_,
                        .where = offsets[i].first,
                        .offset = offsets[i].second,
                        .sent = sent,
                        .at = parts_.history.next_moment(),
                        .lasts_until = lasts_until};
    parts_.history.tell([&](Checker& checker) { checker.on_committed(commit); });
    ++parts_.history.commits;
  }
}

}  // namespace weir::sim

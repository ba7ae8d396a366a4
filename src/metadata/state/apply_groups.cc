// Consumer groups and their offsets.
#include "base/planted.h"
#include "metadata/state/apply.h"

namespace weir::metadata {

using kafka::KafkaError;

namespace {

// The group, for changing, if the command's claim still holds.
struct Claimed {
  KafkaError error = KafkaError::kNone;
  std::shared_ptr<const GroupImage> group;
};

Claimed find_claimed(const Tables& tables, const std::string& id, Position claim) {
  std::shared_ptr<const GroupImage> group = tables.groups.find(id);
  const bool is_other = group == nullptr || group->claim != claim;
  if (is_other && (group == nullptr || !planted(Bug::kTwoGroupOwners)))
    return {KafkaError::kNotCoordinator, nullptr};
  return {KafkaError::kNone, std::move(group)};
}

// Whether the offset that stands is the one that was to go.
bool is_meant(const CommittedOffset& offset, const OffsetDeleteEntry& entry) {
  return entry.if_committed_at == kNoTimestamp ||
         (offset.commit_time == entry.if_committed_at && offset.expire_time == entry.if_expires_at);
}

}  // namespace

CommandResult apply(Tables& tables, ApplyContext& context, const GroupClaim& command) {
  std::shared_ptr<const GroupImage> old = tables.groups.find(command.group);
  GroupImage group;
  if (old != nullptr) {
    group = *old;
  } else {
    group.id = command.group;
    group.members = CowPtr<std::vector<GroupMember>>::make();
    group.state_time = context.now;
  }
  group.owner = context.broker;
  group.claim = context.position;
  if (planted(Bug::kOffsetsLostByClaim)) group.offsets = {};
  tables.groups.put(std::move(group), GroupTable::Changed::kAll);
  context.changes.groups.push_back(command.group);
  return {.value = context.position};
}

CommandResult apply(Tables& tables, ApplyContext& context, const GroupCommit& command) {
  Claimed claimed = find_claimed(tables, command.group, command.claim);
  if (claimed.error != KafkaError::kNone) return {.error = claimed.error};
  GroupImage group = *claimed.group;
  group.protocol_type = command.protocol_type;
  group.generation = command.generation;
  group.protocol = command.protocol;
  group.leader = command.leader;
  group.members = CowPtr<std::vector<GroupMember>>::make(command.members);
  group.state_time = context.now;
  tables.groups.put(std::move(group), GroupTable::Changed::kAll);
  context.changes.groups.push_back(command.group);
  return {};
}

CommandResult apply(Tables& tables, ApplyContext& context, const OffsetCommit& command) {
  Claimed claimed = find_claimed(tables, command.group, command.claim);
  if (claimed.error != KafkaError::kNone) return {.error = claimed.error};
  CommandResult result;
  GroupImage group = *claimed.group;
  for (const OffsetCommitEntry& entry : command.entries) {
    TopicState* topic = tables.topics.find(entry.topic);
    if (topic == nullptr || topic->partition(entry.partition) == nullptr) {
      result.items.push_back({.error = KafkaError::kUnknownTopicOrPartition});
      continue;
    }
    tables.groups.set_offset(group, {entry.topic, entry.partition},
                             {.offset = entry.offset,
                              .leader_epoch = entry.leader_epoch,
                              .commit_time = entry.commit_time,
                              .expire_time = entry.expire_time,
                              .metadata = entry.metadata});
    result.items.push_back({});
  }
  tables.groups.put(std::move(group), GroupTable::Changed::kOffsetsOnly);
  context.changes.offsets.push_back(command.group);
  return result;
}

CommandResult apply(Tables& tables, ApplyContext& context, const OffsetDelete& command) {
  Claimed claimed = find_claimed(tables, command.group, command.claim);
  if (claimed.error != KafkaError::kNone) return {.error = claimed.error};
  if (command.if_generation >= 0 && claimed.group->generation != command.if_generation)
    return {.error = KafkaError::kIllegalGeneration};
  CommandResult result;
  GroupImage group = *claimed.group;
  for (const OffsetDeleteEntry& entry : command.entries) {
    TopicPartition partition{entry.topic, entry.partition};
    const CommittedOffset* old = group.offsets.find(partition);
    bool stands = old != nullptr && is_meant(*old, entry);
    if (stands) tables.groups.erase_offset(group, partition);
    result.items.push_back(
        {.error = stands ? KafkaError::kNone : KafkaError::kUnknownTopicOrPartition});
  }
  tables.groups.put(std::move(group), GroupTable::Changed::kOffsetsOnly);
  context.changes.offsets.push_back(command.group);
  return result;
}

CommandResult apply(Tables& tables, ApplyContext& context, const GroupDelete& command) {
  if (tables.groups.find(command.group) == nullptr) return {.error = KafkaError::kGroupIdNotFound};
  Claimed claimed = find_claimed(tables, command.group, command.claim);
  if (claimed.error != KafkaError::kNone) return {.error = claimed.error};
  const bool has_offsets = !claimed.group->offsets.empty();
  const bool is_in_use = command.if_without_offsets && has_offsets;
  if (!claimed.group->members->empty() || is_in_use) return {.error = KafkaError::kNonEmptyGroup};
  tables.groups.erase(command.group);
  context.changes.groups.push_back(command.group);
  return {};
}

}  // namespace weir::metadata

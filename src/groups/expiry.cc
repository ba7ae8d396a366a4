// The expiry of offsets (KIP-211), and of groups that have neither members nor offsets. What is to
// go is judged by an image, and more may be committed until the log has the command: each command
// names what was judged, and applying it spares what is not that any more.
#include "base/planted.h"
#include "groups/group_coordinator.h"
#include "runtime/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

namespace weir::groups {

using kafka::KafkaError;

// What has to be done about a group.
struct GroupCoordinator::Verdict {
  metadata::OffsetDelete offsets;  // those that have expired
  bool is_unlogged = false;        // that it is empty could not be written to the log
  bool is_over = false;            // without members, and without offsets but those

  [[nodiscard]] bool is_nothing() const {
    return offsets.entries.empty() && !is_unlogged && !is_over;
  }
};

Task<void> GroupCoordinator::expire_offsets() {
  const TimestampMs now = clock_.wall_ms();
  co_await for_each_group(coordinator_.group_ids(),
                          [this, now](std::string id) { return expire_in(std::move(id), now); });
}

// Offsets of a group without members last for the retention after it became empty (or, for one that
// never had members, after their commit); of a group with consumers only those of topics that
// nobody subscribes to any more go.
GroupCoordinator::Verdict GroupCoordinator::judge(const std::string& group_id,
                                                  TimestampMs now) const {
  Verdict verdict;
  auto image = coordinator_.group(group_id);
  GroupPtr group = look_at(group_id);
  if (!image || !group || !is_owner(group_id)) return verdict;
  const bool has_members = !group->is(GroupState::kEmpty);
  auto subscribed = group->subscribed_topics();
  if (has_members && (!subscribed || !group->is(GroupState::kStable))) return verdict;
  if (!group->is_logged_as(*image)) {
    verdict.is_unlogged = !has_members;
    return verdict;
  }
  const bool is_simple = image->protocol_type.empty();
  auto cluster = coordinator_.image();
  image->offsets.for_each([&](const TopicPartition& partition,
                              const metadata::CommittedOffset& offset) {
    TimestampMs start = has_members || is_simple ? offset.commit_time
                                                 : std::max(image->state_time, offset.commit_time);
    TimestampMs end =
        offset.expire_time >= 0 ? offset.expire_time : start + limits_.offsets_retention_ms;
    if (now < end) return;
    auto topic = cluster->topic(partition.topic);
    if (has_members && topic && subscribed->contains(topic->name)) return;
    verdict.offsets.entries.push_back({.topic = partition.topic,
                                       .partition = partition.partition,
                                       .if_committed_at = offset.commit_time,
                                       .if_expires_at = offset.expire_time});
  });
  verdict.offsets.group = group_id;
  verdict.offsets.if_generation = image->generation;
  verdict.is_over = !has_members && group->pending_ids().empty() &&
                    verdict.offsets.entries.size() == image->offsets.size();
  return verdict;
}

Task<void> GroupCoordinator::expire_in(std::string group_id, TimestampMs now) {
  if (judge(group_id, now).is_nothing()) co_return;
  auto [error, group] = co_await hold(group_id, Missing::kIsNone);
  if (error != KafkaError::kNone || !group) co_return;
  // It may have changed while it was claimed.
  Verdict verdict = judge(group_id, now);
  if (verdict.is_unlogged) co_return co_await write_empty(group);
  if (!verdict.offsets.entries.empty()) {
    if (!co_await expire_group_offsets(group, std::move(verdict.offsets))) co_return;
    verdict = judge(group_id, now);
  }
  if (!verdict.is_over || !verdict.offsets.entries.empty() || held(group_id) != group) co_return;
  if (planted(Bug::kEmptyGroupsStay)) co_return;
  const bool if_without_offsets = !planted(Bug::kCommitLostByExpiry);
  error = co_await write(group, metadata::GroupDelete{.group = group_id,
                                                      .claim = group->claim,
                                                      .if_without_offsets = if_without_offsets});
  if (error != KafkaError::kNone) co_return;
  log::info("group.expired", {{"group", group_id}});
  forget(group);
}

// False: the log did not take it.
Task<bool> GroupCoordinator::expire_group_offsets(GroupPtr group, metadata::OffsetDelete command) {
  command.claim = group->claim;
  const std::size_t count = command.entries.size();
  if (co_await write(group, std::move(command)) != KafkaError::kNone) co_return false;
  log::info("group.offsets.expired", {{"group", group->id()}, {"offsets", count}});
  co_return true;
}

}  // namespace weir::groups

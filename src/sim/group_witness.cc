#include "sim/group_witness.h"

#include <fmt/format.h>

namespace weir::sim {

using kafka::KafkaError;

void GroupWitness::see(const metadata::RecordHeader& header, const metadata::Command& command,
                       const metadata::CommandResult& result) {
  if (result.error != KafkaError::kNone) return;
  if (const auto* claim = std::get_if<metadata::GroupClaim>(&command)) {
    see_claim(header, *claim);
  } else if (const auto* members = std::get_if<metadata::GroupCommit>(&command)) {
    see_commit(header, *members);
  } else if (const auto* offsets = std::get_if<metadata::OffsetCommit>(&command)) {
    see_offsets(*offsets, result);
  } else if (const auto* topics = std::get_if<metadata::DeleteTopics>(&command)) {
    see_topics_deleted(*topics, result);
  } else if (const auto* deleted = std::get_if<metadata::OffsetDelete>(&command)) {
    for (std::size_t i = 0; i < deleted->entries.size(); ++i) {
      const auto& entry = deleted->entries[i];
      if (result.items[i].error == KafkaError::kNone)
        see_deleted(header.time, deleted->group, {entry.topic, entry.partition});
    }
  } else if (const auto* gone = std::get_if<metadata::GroupDelete>(&command)) {
    see_group_deleted(header.time, gone->group);
  }
}

void GroupWitness::see_claim(const metadata::RecordHeader& header,
                             const metadata::GroupClaim& claim) {
  auto [at, is_new] = groups_.try_emplace(claim.group);
  if (!is_new) return;
  at->second.life = ++lives_;
  at->second.state_time = header.time;
}

void GroupWitness::see_commit(const metadata::RecordHeader& header,
                              const metadata::GroupCommit& commit) {
  Group& group = groups_[commit.group];
  group.has_members = !commit.members.empty();
  group.had_members = true;
  group.state_time = header.time;
  for (const auto& member : commit.members)
    history_->tell([&](Checker& checker) { checker.on_member(member.id, group.life); });
}

void GroupWitness::see_offsets(const metadata::OffsetCommit& commit,
                               const metadata::CommandResult& result) {
  Group& group = groups_[commit.group];
  for (std::size_t i = 0; i < commit.entries.size(); ++i) {
    const auto& entry = commit.entries[i];
    if (result.items[i].error != KafkaError::kNone) continue;
    group.offsets[{entry.topic, entry.partition}] = {.committed = entry.commit_time,
                                                     .expires = entry.expire_time};
  }
}

void GroupWitness::see_topics_deleted(const metadata::DeleteTopics& command,
                                      const metadata::CommandResult& result) {
  for (std::size_t i = 0; i < command.topics.size(); ++i) {
    if (result.items[i].error != KafkaError::kNone) continue;
    for (auto& [name, group] : groups_) {
      std::erase_if(group.offsets,
                    [&](const auto& entry) { return entry.first.topic == command.topics[i]; });
    }
  }
}

TimestampMs GroupWitness::end_of(const Group& group, const Times& offset) const {
  if (offset.expires >= 0) return offset.expires;
  const TimestampMs since =
      group.had_members ? std::max(group.state_time, offset.committed) : offset.committed;
  return since + retention_ms_;
}

void GroupWitness::see_deleted(TimestampMs now, const std::string& name,
                               const TopicPartition& partition) {
  Group& group = groups_[name];
  auto at = group.offsets.find(partition);
  if (at == group.offsets.end()) return;
  const Expiry expiry{
      .group = name, .has_members = group.has_members, .early_ms = end_of(group, at->second) - now};
  group.offsets.erase(at);
  history_->tell([&](Checker& checker) { checker.on_expired(expiry); });
}

void GroupWitness::see_group_deleted(TimestampMs now, const std::string& name) {
  while (!groups_[name].offsets.empty()) {
    const TopicPartition partition = groups_[name].offsets.begin()->first;
    see_deleted(now, name, partition);
  }
  groups_.erase(name);
}

void GroupWitness::judge_end(TimestampMs now) {
  for (const auto& [name, group] : groups_) {
    const bool lasts = std::ranges::any_of(
        group.offsets, [&](const auto& entry) { return end_of(group, entry.second) > now; });
    if (!group.has_members && lasts) continue;
    const std::string why =
        group.has_members ? "its members went long ago"
                          : fmt::format("its {} offsets are past their time", group.offsets.size());
    history_->tell([&](Checker& checker) { checker.on_left_group(name, why); });
  }
}

}  // namespace weir::sim

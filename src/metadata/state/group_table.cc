#include "metadata/state/group_table.h"

#include "metadata/state/item_hash.h"

namespace weir::metadata {
namespace {

std::uint64_t description_hash(const GroupImage& group) {
  ItemWriter item;
  item.text(group.id)
      .number(group.owner)
      .number(group.claim)
      .text(group.protocol_type)
      .number(group.generation);
  item.text(group.protocol).text(group.leader).number(group.state_time);
  for (const GroupMember& member : *group.members) {
    item.text(member.id)
        .number(member.instance_id.has_value())
        .text(member.instance_id.value_or(""));
    item.text(member.client_id).text(member.client_host);
    item.number(member.session_timeout_ms).number(member.rebalance_timeout_ms);
    item.text(as_text(member.subscription)).text(as_text(member.assignment));
  }
  return item.hash(ItemKind::kGroup);
}

std::uint64_t offset_hash(std::uint64_t owner, const TopicPartition& partition,
                          const CommittedOffset& offset) {
  return ItemWriter()
      .number(static_cast<std::int64_t>(partition.topic.high))
      .number(static_cast<std::int64_t>(partition.topic.low))
      .number(partition.partition)
      .number(offset.offset)
      .number(offset.leader_epoch)
      .number(offset.commit_time)
      .number(offset.expire_time)
      .text(offset.metadata)
      .hash(ItemKind::kOffset, owner);
}

std::uint64_t owner_hash(const GroupImage& group) {
  return ItemWriter().text(group.id).hash(ItemKind::kOffset);
}

}  // namespace

std::shared_ptr<const GroupImage> GroupTable::find(const std::string& id) const {
  const auto* found = groups_.find(id);
  return found == nullptr ? nullptr : *found;
}

void GroupTable::put(GroupImage group, Changed changed) {
  auto& place = groups_.at_for_write(group.id);
  if (changed == Changed::kAll) {
    if (place != nullptr) hash_ -= description_hash(*place);
    hash_ += description_hash(group);
  }
  place = std::make_shared<const GroupImage>(std::move(group));
}

void GroupTable::set_offset(GroupImage& copy, const TopicPartition& partition,
                            CommittedOffset offset) {
  std::uint64_t owner = owner_hash(copy);
  if (const CommittedOffset* old = copy.offsets.find(partition))
    hash_ -= offset_hash(owner, partition, *old);
  hash_ += offset_hash(owner, partition, offset);
  copy.offsets.at_for_write(partition) = std::move(offset);
}

bool GroupTable::erase_offset(GroupImage& copy, const TopicPartition& partition) {
  const CommittedOffset* old = copy.offsets.find(partition);
  if (old == nullptr) return false;
  hash_ -= offset_hash(owner_hash(copy), partition, *old);
  copy.offsets.erase(partition);
  return true;
}

void GroupTable::erase(const std::string& id) {
  std::shared_ptr<const GroupImage> group = find(id);
  if (group == nullptr) return;
  hash_ -= description_hash(*group);
  std::uint64_t owner = owner_hash(*group);
  group->offsets.for_each([&](const TopicPartition& partition, const CommittedOffset& offset) {
    hash_ -= offset_hash(owner, partition, offset);
  });
  groups_.erase(id);
}

std::vector<std::string> GroupTable::erase_topic(const TopicId& topic) {
  std::vector<std::pair<std::string, std::vector<TopicPartition>>> found;
  groups_.for_each([&](const std::string& id, const std::shared_ptr<const GroupImage>& group) {
    std::vector<TopicPartition> partitions;
    group->offsets.for_each_from(TopicPartition{topic, 0},
                                 [&](const TopicPartition& at, const CommittedOffset&) {
                                   if (at.topic != topic) return false;
                                   partitions.push_back(at);
                                   return true;
                                 });
    if (!partitions.empty()) found.emplace_back(id, std::move(partitions));
  });
  std::vector<std::string> ids;
  for (auto& [id, partitions] : found) {
    GroupImage copy = *find(id);
    for (const TopicPartition& partition : partitions) erase_offset(copy, partition);
    put(std::move(copy), Changed::kOffsetsOnly);
    ids.push_back(std::move(id));
  }
  return ids;
}

}  // namespace weir::metadata

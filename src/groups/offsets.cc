// OffsetCommit, OffsetDelete and the expiry of offsets (KIP-211).
#include "groups/group_coordinator.h"
#include "groups/subscription.h"
#include "runtime/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::groups {

using kafka::KafkaError;
using kafka::OffsetCommitRequest;
using kafka::OffsetCommitResponse;
using kafka::OffsetDeleteRequest;
using kafka::OffsetDeleteResponse;

namespace {

constexpr std::int16_t kTopicIdVersion = 10;
constexpr std::int16_t kGroupNotFoundVersion = 9;

std::shared_ptr<const metadata::TopicImage> topic_of(const metadata::ClusterImage& image,
                                                     const OffsetCommitRequest::Topic& topic,
                                                     std::int16_t version) {
  return version >= kTopicIdVersion ? image.topic(topic.topic_id) : image.topic(topic.name);
}

// Where an entry of the command stands in the response.
struct Place {
  std::size_t topic;
  std::size_t partition;
};

}  // namespace

KafkaError GroupCoordinator::check_commit(const GroupPtr& group, const OffsetCommitRequest& request,
                                          std::int16_t version) {
  std::int32_t generation = request.generation_id_or_member_epoch;
  if (!group) {
    if (generation < 0) return KafkaError::kNone;
    return version >= kGroupNotFoundVersion ? KafkaError::kGroupIdNotFound
                                            : KafkaError::kIllegalGeneration;
  }
  if (group->is(GroupState::kDead)) return KafkaError::kCoordinatorNotAvailable;
  // A consumer that manages its partitions itself commits to a group without members.
  if (generation < 0 && group->is(GroupState::kEmpty)) return KafkaError::kNone;
  bool is_member =
      generation >= 0 || !request.member_id.empty() || request.group_instance_id.has_value();
  if (!is_member) return KafkaError::kUnknownMemberId;
  KafkaError error = group->check_member(request.member_id, request.group_instance_id);
  if (error != KafkaError::kNone) return error;
  if (generation != group->generation()) return KafkaError::kIllegalGeneration;
  return group->is(GroupState::kCompletingRebalance) ? KafkaError::kRebalanceInProgress
                                                     : KafkaError::kNone;
}

Task<OffsetCommitResponse> GroupCoordinator::commit_offsets(const OffsetCommitRequest& request,
                                                            std::int16_t version) {
  auto commit = [](GroupCoordinator* self, const OffsetCommitRequest* asked,
                   std::int16_t asked_version) -> Task<OffsetCommitResponse> {
    OffsetCommitResponse response;
    auto answer_all = [&](KafkaError error) {
      for (auto& topic : response.topics) {
        for (auto& partition : topic.partitions) {
          if (partition.error_code == KafkaError::kNone) partition.error_code = error;
        }
      }
    };
    auto image = self->coordinator_.image();
    metadata::OffsetCommit command;
    std::vector<Place> places;
    const TimestampMs now = self->clock_.wall_ms();
    for (const auto& topic : asked->topics) {
      auto& out = response.topics.emplace_back();
      out.topic_id = topic.topic_id;
      out.name = std::string(topic.name);
      auto found = topic_of(*image, topic, asked_version);
      for (const auto& partition : topic.partitions) {
        auto& part = out.partitions.emplace_back();
        part.partition_index = partition.partition_index;
        std::string_view text = partition.committed_metadata.value_or("");
        if (!found) {
          part.error_code = asked_version >= kTopicIdVersion ? KafkaError::kUnknownTopicId
                                                             : KafkaError::kUnknownTopicOrPartition;
        } else if (found->partition(partition.partition_index) == nullptr) {
          part.error_code = KafkaError::kUnknownTopicOrPartition;
        } else if (text.size() > self->limits_.offset_metadata_max_bytes) {
          part.error_code = KafkaError::kOffsetMetadataTooLarge;
        } else {
          command.entries.push_back({.topic = found->id,
                                     .partition = partition.partition_index,
                                     .offset = partition.committed_offset,
                                     .leader_epoch = partition.committed_leader_epoch,
                                     .commit_time = now,
                                     .expire_time = asked->retention_time_ms >= 0
                                                        ? now + asked->retention_time_ms
                                                        : kNoTimestamp,
                                     .metadata = std::string(text)});
          places.push_back({response.topics.size() - 1, out.partitions.size() - 1});
        }
      }
    }
    KafkaError error = KafkaError::kNone;
    if (self->is_stopped_) error = KafkaError::kCoordinatorNotAvailable;
    GroupPtr group;
    if (error == KafkaError::kNone) {
      group = self->find(asked->group_id);
      error = self->check_commit(group, *asked, asked_version);
    }
    if (error == KafkaError::kNone && !places.empty()) {
      if (!group) group = self->find_or_create(asked->group_id);
      if (Member* member = group->find(asked->member_id)) self->keep_alive(group, *member);
      error = co_await self->claim(group);
    }
    if (error != KafkaError::kNone || places.empty()) {
      answer_all(error);
      co_return response;
    }
    command.group = group->id();
    command.claim = group->claim;
    auto written = co_await self->coordinator_.submit(std::move(command));
    if (!written || written->error != KafkaError::kNone) {
      if (written && written->error == KafkaError::kNotCoordinator) self->forget(group);
      answer_all(written ? written->error : KafkaError::kCoordinatorNotAvailable);
      co_return response;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      response.topics[places[i].topic].partitions[places[i].partition].error_code =
          written->items[i].error;
    }
    co_return response;
  };
  co_return co_await boost::asio::co_spawn(executor_, commit(this, &request, version),
                                           boost::asio::use_awaitable);
}

Task<OffsetDeleteResponse> GroupCoordinator::delete_offsets(const OffsetDeleteRequest& request) {
  auto erase = [](GroupCoordinator* self,
                  const OffsetDeleteRequest* asked) -> Task<OffsetDeleteResponse> {
    OffsetDeleteResponse response;
    GroupPtr group = asked->group_id.empty() ? nullptr : self->find(asked->group_id);
    if (!group || group->is(GroupState::kDead)) {
      response.error_code =
          asked->group_id.empty() ? KafkaError::kInvalidGroupId : KafkaError::kGroupIdNotFound;
      co_return response;
    }
    bool is_consumer = group->protocol_type() == kConsumerProtocolType;
    if (!group->is(GroupState::kEmpty) && !is_consumer) {
      response.error_code = KafkaError::kNonEmptyGroup;
      co_return response;
    }
    auto subscribed = group->is(GroupState::kEmpty) ? std::optional(std::set<std::string>{})
                                                    : group->subscribed_topics();
    auto image = self->coordinator_.image();
    metadata::OffsetDelete command;
    for (const auto& topic : asked->topics) {
      auto& out = response.topics.emplace_back();
      out.name = std::string(topic.name);
      auto found = image->topic(topic.name);
      // While the subscriptions cannot be read, every topic counts as in use.
      bool is_used = !subscribed || subscribed->contains(out.name);
      for (const auto& partition : topic.partitions) {
        bool is_known = found && found->partition(partition.partition_index) != nullptr;
        KafkaError error = is_used ? KafkaError::kGroupSubscribedToTopic : KafkaError::kNone;
        if (error == KafkaError::kNone && !is_known) error = KafkaError::kUnknownTopicOrPartition;
        out.partitions.push_back(
            {.partition_index = partition.partition_index, .error_code = error});
        if (error == KafkaError::kNone)
          command.entries.push_back({.topic = found->id, .partition = partition.partition_index});
      }
    }
    if (command.entries.empty()) co_return response;
    KafkaError error = co_await self->claim(group);
    command.group = group->id();
    command.claim = group->claim;
    if (error == KafkaError::kNone) error = co_await self->write(group, std::move(command));
    if (error != KafkaError::kNone) response.error_code = error;
    co_return response;
  };
  co_return co_await boost::asio::co_spawn(executor_, erase(this, &request),
                                           boost::asio::use_awaitable);
}

Task<void> GroupCoordinator::expire_offsets() {
  const TimestampMs now = clock_.wall_ms();
  for (const std::string& id : coordinator_.group_ids()) {
    if (tasks_.stopping()) co_return;
    co_await boost::asio::co_spawn(executor_, expire_in(id, now), boost::asio::use_awaitable);
  }
}

// Offsets of a group without members last for the retention after it became empty (or, for one that
// never had members, after their commit); of a group with consumers only those of topics that
// nobody subscribes to any more go.
Task<void> GroupCoordinator::expire_in(std::string group_id, TimestampMs now) {
  auto image = coordinator_.group(group_id);
  GroupPtr group = find(group_id);
  if (!image || !group) co_return;
  bool has_members = !group->is(GroupState::kEmpty);
  bool is_simple = image->protocol_type.empty();
  auto subscribed = group->subscribed_topics();
  if (has_members && (!subscribed || !group->is(GroupState::kStable))) co_return;
  auto cluster = coordinator_.image();
  metadata::OffsetDelete command;
  image->offsets.for_each([&](const TopicPartition& partition,
                              const metadata::CommittedOffset& offset) {
    TimestampMs start = has_members || is_simple ? offset.commit_time
                                                 : std::max(image->state_time, offset.commit_time);
    TimestampMs end =
        offset.expire_time >= 0 ? offset.expire_time : start + limits_.offsets_retention_ms;
    if (now < end) return;
    auto topic = cluster->topic(partition.topic);
    if (has_members && topic && subscribed->contains(topic->name)) return;
    command.entries.push_back({.topic = partition.topic,
                               .partition = partition.partition,
                               .if_committed_at = offset.commit_time});
  });
  std::size_t expired = command.entries.size();
  bool is_to_be_deleted =
      !has_members && expired == image->offsets.size() && (expired > 0 || !is_simple);
  if (expired == 0 && !is_to_be_deleted) co_return;
  if (co_await claim(group) != KafkaError::kNone) co_return;
  command.group = group_id;
  command.claim = group->claim;
  if (expired > 0 && co_await write(group, std::move(command)) != KafkaError::kNone) co_return;
  log::info("group.offsets.expired", {{"group", group_id}, {"offsets", expired}});
  if (!is_to_be_deleted || !group->is(GroupState::kEmpty)) co_return;
  if (co_await write(group, metadata::GroupDelete{.group = group_id, .claim = group->claim}) ==
      KafkaError::kNone) {
    forget(group);
  }
}

}  // namespace weir::groups

// OffsetCommit and OffsetDelete.
#include "base/planted.h"
#include "groups/group_coordinator.h"
#include "groups/subscription.h"
#include "runtime/scoped_timer.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <numeric>

namespace weir::groups {

using kafka::KafkaError;
using kafka::OffsetCommitRequest;
using kafka::OffsetCommitResponse;
using kafka::OffsetDeleteRequest;
using kafka::OffsetDeleteResponse;

namespace {

constexpr std::int16_t kTopicIdVersion = 10;
constexpr std::int16_t kGroupNotFoundVersion = 9;
// What offsets.commit.timeout.ms is in Kafka. The answers of a connection are in order: one that
// waits for a log that is down or slow would hold up the heartbeats behind it until its member's
// session is over. The commit may still take effect, or be refused.
constexpr Duration kCommitPatience = std::chrono::seconds(5);

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

// A commit on its way: what goes to the log, and the answer, filled but for what the log says.
struct CommitPlan {
  OffsetCommitResponse response;
  metadata::OffsetCommit command;
  std::vector<Place> places;  // of the command's entries

  [[nodiscard]] bool has_unknown() const {
    return std::ranges::any_of(response.topics, [](const auto& topic) {
      return std::ranges::any_of(topic.partitions, [](const auto& partition) {
        return partition.error_code == KafkaError::kUnknownTopicOrPartition ||
               partition.error_code == KafkaError::kUnknownTopicId;
      });
    });
  }
  void settle(const Result<metadata::CommandResult>& written) {
    // While the log is down the coordinator stays who it is: a client that looked for it anew, as
    // it does after COORDINATOR_NOT_AVAILABLE, would send no heartbeats meanwhile and lose its
    // session.
    if (!written) {
      return fail_rest(written.error().code == ErrorCode::kFenced
                           ? KafkaError::kCoordinatorNotAvailable
                           : KafkaError::kCoordinatorLoadInProgress);
    }
    if (written->error != KafkaError::kNone) return fail_rest(written->error);
    for (std::size_t i = 0; i < places.size(); ++i) {
      response.topics[places[i].topic].partitions[places[i].partition].error_code =
          written->items[i].error;
    }
  }
  // The answer of all partitions that have no error of their own.
  void fail_rest(KafkaError error) {
    for (auto& topic : response.topics) {
      for (auto& partition : topic.partitions) {
        if (partition.error_code == KafkaError::kNone) partition.error_code = error;
      }
    }
  }
};

// How Kafka counts the length of metadata: in the units of UTF-16.
std::size_t utf16_length(std::string_view utf8) {
  auto units = [](char c) {
    auto byte = static_cast<unsigned char>(c);
    bool continues = (byte & 0xC0U) == 0x80U;
    return std::size_t{continues ? 0U : byte >= 0xF0U ? 2U : 1U};
  };
  return std::transform_reduce(utf8.begin(), utf8.end(), std::size_t{0}, std::plus<>(), units);
}

KafkaError check_partition(const metadata::TopicImage* topic,
                           const OffsetCommitRequest::Partition& partition, std::int16_t version,
                           std::size_t metadata_max) {
  if (topic == nullptr) {
    return version >= kTopicIdVersion ? KafkaError::kUnknownTopicId
                                      : KafkaError::kUnknownTopicOrPartition;
  }
  if (topic->partition(partition.partition_index) == nullptr) {
    return KafkaError::kUnknownTopicOrPartition;
  }
  bool is_too_long = utf16_length(partition.committed_metadata.value_or("")) > metadata_max;
  return is_too_long ? KafkaError::kOffsetMetadataTooLarge : KafkaError::kNone;
}

CommitPlan plan_commit(const metadata::ClusterImage& image, const OffsetCommitRequest& request,
                       std::int16_t version, TimestampMs now, std::size_t metadata_max) {
  CommitPlan plan;
  for (const auto& topic : request.topics) {
    auto& out = plan.response.topics.emplace_back();
    out.topic_id = topic.topic_id;
    out.name = std::string(topic.name);
    auto found = topic_of(image, topic, version);
    for (const auto& partition : topic.partitions) {
      KafkaError error = check_partition(found.get(), partition, version, metadata_max);
      out.partitions.push_back({.partition_index = partition.partition_index, .error_code = error});
      if (error != KafkaError::kNone) continue;
      plan.command.entries.push_back(
          {.topic = found->id,
           .partition = partition.partition_index,
           .offset = partition.committed_offset,
           .leader_epoch = partition.committed_leader_epoch,
           .commit_time = now,
           .expire_time =
               request.retention_time_ms >= 0 ? now + request.retention_time_ms : kNoTimestamp,
           .metadata = std::string(partition.committed_metadata.value_or(""))});
      plan.places.push_back({plan.response.topics.size() - 1, out.partitions.size() - 1});
    }
  }
  return plan;
}

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
  if (error == KafkaError::kFencedInstanceId && planted(Bug::kOldInstanceCommits))
    error = KafkaError::kNone;
  if (error != KafkaError::kNone) return error;
  if (generation != group->generation() && !planted(Bug::kOldGenerationCommits))
    return KafkaError::kIllegalGeneration;
  return group->is(GroupState::kCompletingRebalance) ? KafkaError::kRebalanceInProgress
                                                     : KafkaError::kNone;
}

Task<PendingCommit> GroupCoordinator::start_commit(const OffsetCommitRequest& request,
                                                   std::int16_t version) {
  co_return co_await boost::asio::co_spawn(executor_, begin_commit(&request, version),
                                           boost::asio::use_awaitable);
}

Task<PendingCommit> GroupCoordinator::begin_commit(const OffsetCommitRequest* request,
                                                   std::int16_t version) {
  auto plan_now = [&] {
    return plan_commit(*coordinator_.image(), *request, version, clock_.wall_ms(),
                       limits_.offset_metadata_max_bytes);
  };
  CommitPlan plan = plan_now();
  // Another broker may have created what is unknown here.
  if (plan.has_unknown() && co_await coordinator_.catch_up()) plan = plan_now();
  std::string group_id(request->group_id);
  auto [error, group] = co_await hold(group_id, Missing::kIsNone);
  if (error == KafkaError::kNone) error = check_commit(group, *request, version);
  if (error == KafkaError::kNone && !plan.places.empty()) {
    if (!group) {
      Held made = co_await hold(group_id, Missing::kIsMade);
      error = made.error;
      group = made.group;
      // Others may have joined it while it was made.
      if (error == KafkaError::kNone) error = check_commit(group, *request, version);
    }
    Member* member = group ? group->find(request->member_id) : nullptr;
    if (member != nullptr) keep_alive(group, *member);
  }
  if (error == KafkaError::kNone && is_stopped_) error = KafkaError::kCoordinatorNotAvailable;
  // The line for the log does not grow by what its members send again and again.
  if (error == KafkaError::kNone && group && group->commits_overdue > 0)
    error = KafkaError::kCoordinatorLoadInProgress;
  PendingCommit pending;
  if (error != KafkaError::kNone || plan.places.empty()) {
    plan.fail_rest(error);
    pending.set(std::move(plan.response));
    co_return pending;
  }
  plan.command.group = group->id();
  plan.command.claim = group->claim;
  auto finish = [](GroupCoordinator* self, CommitPlan started, GroupPtr of,
                   PendingCommit answer) -> Task<void> {
    bool is_overdue = false;
    const ScopedTimer impatient(self->clock_.call_after(kCommitPatience, self->executor_, [&] {
      is_overdue = true;
      ++of->commits_overdue;
      started.fail_rest(KafkaError::kCoordinatorLoadInProgress);
      answer.set(std::move(started.response));
    }));
    auto written = co_await self->coordinator_.submit(std::move(started.command));
    if (written && written->error == KafkaError::kNotCoordinator) self->forget(of);
    if (is_overdue) {
      --of->commits_overdue;
    } else {
      started.settle(written);
      answer.set(std::move(started.response));
    }
    ++of->commits_ended;
    self->commit_ended_.notify();
  };
  ++group->commits_begun;
  // It is submitted before the next call on this executor: tasks begin in the order of their spawn.
  tasks_.spawn(executor_, finish(this, std::move(plan), group, pending));
  co_return pending;
}

Task<void> GroupCoordinator::wait_for_commits(std::string group_id) {
  auto wait = [](GroupCoordinator* self, std::string id) -> Task<void> {
    GroupPtr group = self->held(id);
    if (!group) co_return;
    const std::uint64_t begun = group->commits_begun;
    while (group->commits_ended < begun) co_await self->commit_ended_.wait();
  };
  co_await boost::asio::co_spawn(executor_, wait(this, std::move(group_id)),
                                 boost::asio::use_awaitable);
}

Task<OffsetDeleteResponse> GroupCoordinator::delete_offsets(const OffsetDeleteRequest& request) {
  auto erase = [](GroupCoordinator* self,
                  const OffsetDeleteRequest* asked) -> Task<OffsetDeleteResponse> {
    OffsetDeleteResponse response;
    // A topic that is unknown here may have been created through another broker.
    std::ignore = co_await self->coordinator_.catch_up();
    Held own{KafkaError::kInvalidGroupId, nullptr};
    if (!asked->group_id.empty())
      own = co_await self->hold(std::string(asked->group_id), Missing::kIsNone);
    auto& [error, group] = own;
    if (error == KafkaError::kNone && (!group || group->is(GroupState::kDead)))
      error = KafkaError::kGroupIdNotFound;
    if (error != KafkaError::kNone) {
      response.error_code = error;
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
        KafkaError why = is_used ? KafkaError::kGroupSubscribedToTopic : KafkaError::kNone;
        if (why == KafkaError::kNone && !is_known) why = KafkaError::kUnknownTopicOrPartition;
        out.partitions.push_back({.partition_index = partition.partition_index, .error_code = why});
        if (why == KafkaError::kNone)
          command.entries.push_back({.topic = found->id, .partition = partition.partition_index});
      }
    }
    if (command.entries.empty()) co_return response;
    command.group = group->id();
    command.claim = group->claim;
    error = co_await self->write(group, std::move(command));
    if (error != KafkaError::kNone) response.error_code = error;
    co_return response;
  };
  co_return co_await boost::asio::co_spawn(executor_, erase(this, &request),
                                           boost::asio::use_awaitable);
}

}  // namespace weir::groups

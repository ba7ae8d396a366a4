// OffsetFetch: committed offsets, read from the state after asking the log. Version 8 asks for
// several groups at once, version 10 names topics by id.
#include "base/planted.h"
#include "broker/apis.h"
#include "broker/broker.h"
#include "kafka/protocol/messages/offset_fetch.h"
#include "metadata/live_owner.h"

namespace weir::broker {
namespace {

using kafka::KafkaError;
using kafka::OffsetFetchRequest;
using kafka::OffsetFetchResponse;

constexpr std::int16_t kGroupsVersion = 8;
constexpr std::int16_t kTopicIdVersion = 10;
constexpr std::int16_t kTopLevelErrorVersion = 2;

using GroupAnswer = OffsetFetchResponse::Group;

// The offset of one partition; -1 and an empty text where none is committed.
OffsetFetchResponse::GroupPartition answer_of(const metadata::GroupImage* group,
                                              const metadata::TopicImage* topic,
                                              std::int32_t partition) {
  OffsetFetchResponse::GroupPartition out;
  out.partition_index = partition;
  out.committed_offset = kNoOffset;
  out.metadata = "";
  if (group == nullptr || topic == nullptr) return out;
  const auto* committed = group->offsets.find(TopicPartition{topic->id, partition});
  if (committed == nullptr) return out;
  out.committed_offset = committed->offset;
  out.committed_leader_epoch = committed->leader_epoch;
  out.metadata = committed->metadata;
  return out;
}

void add_all(const metadata::ClusterImage& image, const metadata::GroupImage& group,
             GroupAnswer& out) {
  group.offsets.for_each([&](const TopicPartition& partition, const metadata::CommittedOffset&) {
    auto topic = image.topic(partition.topic);
    if (!topic) return;
    if (out.topics.empty() || out.topics.back().topic_id != topic->id) {
      out.topics.push_back({.topic_id = topic->id, .name = topic->name});
    }
    out.topics.back().partitions.push_back(answer_of(&group, topic.get(), partition.partition));
  });
}

void add_named(const metadata::ClusterImage& image, const metadata::GroupImage* group,
               const std::vector<OffsetFetchRequest::GroupTopic>& asked, std::int16_t version,
               GroupAnswer& out) {
  for (const auto& topic : asked) {
    auto found = version >= kTopicIdVersion ? image.topic(topic.topic_id) : image.topic(topic.name);
    auto& answer = out.topics.emplace_back();
    answer.topic_id = topic.topic_id;
    answer.name = std::string(topic.name);
    for (std::int32_t partition : topic.partition_indexes) {
      answer.partitions.push_back(answer_of(group, found.get(), partition));
      if (!found && version >= kTopicIdVersion)
        answer.partitions.back().error_code = KafkaError::kUnknownTopicId;
    }
  }
}

// Version 1 has no error for the group: an answer without offsets would mean that there are none.
void add_failed(const std::vector<OffsetFetchRequest::GroupTopic>& asked, GroupAnswer& out) {
  for (const auto& topic : asked) {
    auto& answer = out.topics.emplace_back();
    answer.name = std::string(topic.name);
    for (std::int32_t partition : topic.partition_indexes) {
      answer.partitions.push_back(answer_of(nullptr, nullptr, partition));
      answer.partitions.back().error_code = out.error_code;
    }
  }
}

GroupAnswer answer_group(const Broker& broker, std::string_view id,
                         const std::optional<std::vector<OffsetFetchRequest::GroupTopic>>& topics,
                         KafkaError error, std::int16_t version) {
  GroupAnswer out;
  out.group_id = std::string(id);
  auto image = broker.coordinator.image();
  bool is_owner = metadata::live_owner(*image, id) == broker.node_id;
  out.error_code = error;
  if (out.error_code == KafkaError::kNone && !is_owner)
    out.error_code = KafkaError::kNotCoordinator;
  if (out.error_code != KafkaError::kNone) {
    if (version < kTopLevelErrorVersion && topics) add_failed(*topics, out);
    return out;
  }
  auto group = broker.coordinator.group(out.group_id);
  if (topics) {
    add_named(*image, group.get(), *topics, version, out);
  } else if (group) {
    add_all(*image, *group, out);
  }
  return out;
}

// The single group of versions below 8, in the form of the later ones.
std::optional<std::vector<OffsetFetchRequest::GroupTopic>> topics_of(
    const OffsetFetchRequest& request) {
  if (!request.topics) return std::nullopt;
  std::vector<OffsetFetchRequest::GroupTopic> out;
  for (const auto& topic : *request.topics) {
    out.push_back(
        {.topic_id = {}, .name = topic.name, .partition_indexes = topic.partition_indexes});
  }
  return out;
}

void fill_single(OffsetFetchResponse& response, GroupAnswer group, std::int16_t version) {
  if (version >= kTopLevelErrorVersion) response.error_code = group.error_code;
  for (auto& topic : group.topics) {
    auto& out = response.topics.emplace_back();
    out.name = std::move(topic.name);
    for (auto& partition : topic.partitions) {
      out.partitions.push_back({.partition_index = partition.partition_index,
                                .committed_offset = partition.committed_offset,
                                .committed_leader_epoch = partition.committed_leader_epoch,
                                .metadata = std::move(partition.metadata),
                                .error_code = partition.error_code});
    }
  }
}

Task<OffsetFetchResponse> fetch_offsets(Broker& broker, const RequestContext& context,
                                        const OffsetFetchRequest& request) {
  OffsetFetchResponse response;
  KafkaError error = planted(Bug::kStaleGroupOffsets) || (co_await broker.coordinator.catch_up())
                         ? KafkaError::kNone
                         : KafkaError::kCoordinatorNotAvailable;
  if (context.version() < kGroupsVersion) {
    fill_single(
        response,
        answer_group(broker, request.group_id, topics_of(request), error, context.version()),
        context.version());
    co_return response;
  }
  for (const auto& group : request.groups) {
    response.groups.push_back(
        answer_group(broker, group.group_id, group.topics, error, context.version()));
  }
  co_return response;
}

}  // namespace

const ApiHandler kOffsetFetchApi{kafka::ApiKey::kOffsetFetch,
                                 &serve<&fetch_offsets, OffsetFetchRequest>};

}  // namespace weir::broker

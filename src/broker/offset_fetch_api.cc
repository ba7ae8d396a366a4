// OffsetFetch: committed offsets, read from the state after asking the log. Version 8 asks for
// several groups at once, version 10 names topics by id.
#include "base/planted.h"
#include "broker/apis.h"
#include "broker/broker.h"
#include "broker/work_memory.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/offset_fetch.h"
#include "metadata/live_owner.h"
#include "runtime/log.h"

namespace weir::broker {
namespace {

using kafka::KafkaError;
using kafka::OffsetFetchRequest;
using kafka::OffsetFetchResponse;

constexpr std::int16_t kGroupsVersion = 8;
constexpr std::int16_t kTopicIdVersion = 10;
constexpr std::int16_t kTopLevelErrorVersion = 2;

// What the answer for a partition takes, besides its metadata, which stands in it twice: as the
// answer is made and in the frame.
constexpr ByteCount kPartitionBytes = 256;

using GroupAnswer = OffsetFetchResponse::Group;
using Topics = std::optional<std::vector<OffsetFetchRequest::GroupTopic>>;

const metadata::CommittedOffset* committed_in(const metadata::GroupImage* group,
                                              const metadata::TopicImage* topic,
                                              std::int32_t partition) {
  if (group == nullptr || topic == nullptr) return nullptr;
  return group->offsets.find(TopicPartition{topic->id, partition});
}

std::shared_ptr<const metadata::TopicImage> topic_of(const metadata::ClusterImage& image,
                                                     const OffsetFetchRequest::GroupTopic& topic,
                                                     std::int16_t version) {
  return version >= kTopicIdVersion ? image.topic(topic.topic_id) : image.topic(topic.name);
}

// The offset of one partition; -1 and an empty text where none is committed.
OffsetFetchResponse::GroupPartition answer_of(const metadata::GroupImage* group,
                                              const metadata::TopicImage* topic,
                                              std::int32_t partition) {
  OffsetFetchResponse::GroupPartition out;
  out.partition_index = partition;
  out.committed_offset = kNoOffset;
  out.metadata = "";
  const auto* committed = committed_in(group, topic, partition);
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
    auto found = topic_of(image, topic, version);
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

GroupAnswer answer_group(const Broker& broker, std::string_view id, const Topics& topics,
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

// What the answer for a group takes. A partition, or a whole group, may be asked for any number of
// times, and is answered as often, as in Kafka.
ByteCount bytes_of(const Broker& broker, std::string_view id, const Topics& topics,
                   std::int16_t version) {
  auto image = broker.coordinator.image();
  auto group = broker.coordinator.group(std::string(id));
  ByteCount bytes = kPartitionBytes + 2 * id.size();
  auto add = [&](const metadata::CommittedOffset* offset) {
    bytes += kPartitionBytes + (offset == nullptr ? 0 : 2 * offset->metadata.size());
  };
  if (!topics) {
    if (group)
      group->offsets.for_each([&](const TopicPartition&, const auto& offset) { add(&offset); });
    return bytes;
  }
  for (const auto& topic : *topics) {
    auto found = topic_of(*image, topic, version);
    bytes += kPartitionBytes + 2 * topic.name.size();
    for (std::int32_t partition : topic.partition_indexes)
      add(committed_in(group.get(), found.get(), partition));
  }
  return bytes;
}

// The single group of versions below 8, in the form of the later ones.
Topics topics_of(const OffsetFetchRequest& request) {
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

struct Asked {
  std::string_view group;
  Topics topics;
};

std::vector<Asked> asked_of(const OffsetFetchRequest& request, std::int16_t version) {
  std::vector<Asked> asked;
  if (version < kGroupsVersion) return {{.group = request.group_id, .topics = topics_of(request)}};
  for (const auto& group : request.groups)
    asked.push_back({.group = group.group_id, .topics = group.topics});
  return asked;
}

// Reserves the memory of the answer. INVALID_REQUEST: there is not as much, ever.
Task<KafkaError> reserve_answer(Broker& broker, RequestContext& context,
                                const std::vector<Asked>& asked) {
  ByteCount bytes = 0;
  for (const Asked& one : asked) {
    bytes += bytes_of(broker, one.group, one.topics, context.version());
    if (bytes <= broker.work.limit()) continue;
    static log::RateLimit limit(std::chrono::seconds(10));
    log::warn(
        limit, "offsets.answer.too.large",
        {{"group", one.group},
         {"groups", asked.size()},
         {"limit", broker.work.limit()},
         {"mend", "ask for fewer groups or partitions at once, or more memory.budget.bytes"}});
    co_return KafkaError::kInvalidRequest;
  }
  if (WorkMemory::is_little(bytes)) co_return KafkaError::kNone;
  auto place = co_await broker.work.extend(bytes, context.closed);
  // The connection is closed: nobody reads the answer.
  if (!place) co_return KafkaError::kCoordinatorNotAvailable;
  context.work = {.reservation = both(std::move(context.work.reservation), place->reservation),
                  .bytes = context.work.bytes + place->bytes};
  co_return KafkaError::kNone;
}

Task<OffsetFetchResponse> fetch_offsets(Broker& broker, RequestContext& context,
                                        const OffsetFetchRequest& request) {
  OffsetFetchResponse response;
  const std::int16_t version = context.version();
  KafkaError error = planted(Bug::kStaleGroupOffsets) || (co_await broker.coordinator.catch_up())
                         ? KafkaError::kNone
                         : KafkaError::kCoordinatorNotAvailable;
  const std::vector<Asked> asked = asked_of(request, version);
  for (const Asked& one : asked) {
    if (error == KafkaError::kNone) co_await broker.groups.wait_for_commits(std::string(one.group));
  }
  if (error == KafkaError::kNone) error = co_await reserve_answer(broker, context, asked);
  for (const Asked& one : asked)
    response.groups.push_back(answer_group(broker, one.group, one.topics, error, version));
  if (version < kGroupsVersion) {
    fill_single(response, std::move(response.groups.front()), version);
    response.groups.clear();
  }
  co_return response;
}

}  // namespace

const ApiHandler kOffsetFetchApi{kafka::ApiKey::kOffsetFetch,
                                 &serve_reading<&fetch_offsets, OffsetFetchRequest>};

}  // namespace weir::broker

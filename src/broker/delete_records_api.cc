// DeleteRecords: moves the log start of partitions forward.
#include "broker/apis.h"
#include "broker/broker.h"
#include "broker/configs.h"
#include "broker/submit.h"
#include "kafka/error_map.h"
#include "kafka/protocol/messages/delete_records.h"

namespace weir::broker {
namespace {

using kafka::DeleteRecordsRequest;
using kafka::DeleteRecordsResponse;
using kafka::KafkaError;

constexpr Offset kToHighWatermark = -1;

// NONE, or why no record of the partition may be deleted.
KafkaError check(Broker& broker, std::size_t core, const metadata::ClusterImage& image,
                 std::string_view name, PartitionIndex partition, Offset offset) {
  auto topic = image.topic(name);
  if (!topic || topic->partition(partition) == nullptr) return KafkaError::kUnknownTopicOrPartition;
  if (!broker.configs.of(core, topic)->config().delete_old) return KafkaError::kPolicyViolation;
  if (offset < kToHighWatermark) return KafkaError::kOffsetOutOfRange;
  return KafkaError::kNone;
}

Task<DeleteRecordsResponse> delete_records(Broker& broker, const RequestContext& context,
                                           const DeleteRecordsRequest& request) {
  DeleteRecordsResponse response;
  std::ignore = co_await broker.coordinator.catch_up();
  auto image = broker.coordinator.image();
  metadata::TrimLogs command{.reason = metadata::TrimReason::kDeleteRecords, .trims = {}};
  struct Place {
    std::size_t topic;
    std::size_t partition;
  };
  std::vector<Place> places;  // of the command's trims in the response
  for (const auto& topic : request.topics) {
    auto& out = response.topics.emplace_back();
    out.name = std::string(topic.name);
    std::map<std::int32_t, Offset> asked;  // of a partition that stands twice the last counts
    for (const auto& partition : topic.partitions)
      asked[partition.partition_index] = partition.offset;
    for (const auto& [partition, offset] : asked) {
      KafkaError error = check(broker, context.client.core, *image, topic.name, partition, offset);
      out.partitions.push_back(
          {.partition_index = partition, .low_watermark = -1, .error_code = error});
      if (error != KafkaError::kNone) continue;
      command.trims.push_back(
          {.topic = image->topic(topic.name)->id, .partition = partition, .log_start = offset});
      places.push_back({response.topics.size() - 1, out.partitions.size() - 1});
    }
  }
  if (places.empty()) co_return response;
  auto applied = co_await submit_within(broker, std::move(command), wait_of(request.timeout_ms));
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto& out = response.topics[places[i].topic].partitions[places[i].partition];
    out.error_code = applied ? applied->items[i].error : kafka::admin_error(applied.error().code);
    if (out.error_code == KafkaError::kNone) out.low_watermark = applied->items[i].value;
  }
  co_return response;
}

}  // namespace

const ApiHandler kDeleteRecordsApi{kafka::ApiKey::kDeleteRecords,
                                   &serve<&delete_records, DeleteRecordsRequest>};

}  // namespace weir::broker

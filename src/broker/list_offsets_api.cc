// ListOffsets: the ends of partitions, and offsets by time at record granularity.
#include "base/planted.h"
#include "broker/apis.h"
#include "broker/broker.h"
#include "fetch/read_plan.h"
#include "kafka/error_map.h"
#include "kafka/protocol/messages/list_offsets.h"
#include "runtime/log.h"

namespace weir::broker {
namespace {

using kafka::KafkaError;
using kafka::ListOffsetsRequest;
using kafka::ListOffsetsResponse;

// Timestamps with a meaning of their own, and the version from which each may be asked.
constexpr TimestampMs kLatest = -1;
constexpr TimestampMs kEarliest = -2;
constexpr TimestampMs kMaxTimestamp = -3;
constexpr TimestampMs kEarliestLocal = -4;
constexpr TimestampMs kLatestTiered = -5;
constexpr TimestampMs kEarliestPendingUpload = -6;
constexpr std::int16_t kOffsetNotAvailableVersion = 5;
constexpr std::int16_t kMaxTimestampVersion = 7;
constexpr std::int16_t kEarliestLocalVersion = 8;
constexpr std::int16_t kLatestTieredVersion = 9;
constexpr std::int16_t kEarliestPendingUploadVersion = 11;

bool is_known(TimestampMs timestamp, std::int16_t version) {
  if (timestamp >= kEarliest) return true;
  if (timestamp == kMaxTimestamp) return version >= kMaxTimestampVersion;
  if (timestamp == kEarliestLocal) return version >= kEarliestLocalVersion;
  if (timestamp == kLatestTiered) return version >= kLatestTieredVersion;
  return timestamp == kEarliestPendingUpload && version >= kEarliestPendingUploadVersion;
}

Task<void> look_up(Broker& broker, const metadata::PartitionView& view, TimestampMs timestamp,
                   ListOffsetsResponse::Partition& out) {
  auto found = timestamp == kMaxTimestamp
                   ? co_await broker.offset_lookup.greatest(view)
                   : co_await broker.offset_lookup.at_or_after(view, timestamp);
  if (!found) {
    out.error_code = kafka::read_error(found.error().code);
    log::warn("list_offsets.read.failed", {{"error", found.error()}});
    co_return;
  }
  if (!*found) co_return;  // no such record: -1, -1
  out.offset = (*found)->offset;
  out.timestamp = (*found)->timestamp;
  out.leader_epoch = (*found)->leader_epoch;
}

Task<void> answer(Broker& broker, const RequestContext& context, LeaderEpoch current,
                  const metadata::PartitionView& view, const ListOffsetsRequest::Partition& asked,
                  ListOffsetsResponse::Partition& out) {
  out.error_code = is_known(asked.timestamp, context.version())
                       ? fetch::check_leader_epoch(asked.current_leader_epoch, current)
                       : KafkaError::kUnsupportedVersion;
  if (out.error_code != KafkaError::kNone) co_return;
  switch (asked.timestamp) {
    case kLatest:
      out.offset = view.high_watermark;
      out.leader_epoch = view.leader_epoch;
      co_return;
    case kEarliest:
    case kEarliestLocal:
      out.offset = view.log_start;
      out.leader_epoch = view.leader_epoch;
      co_return;
    case kLatestTiered:
    case kEarliestPendingUpload:
      co_return;  // nothing is tiered: -1, -1
    default:
      co_await look_up(broker, view, asked.timestamp, out);
  }
}

Task<ListOffsetsResponse> list_offsets(Broker& broker, const RequestContext& context,
                                       const ListOffsetsRequest& request) {
  ListOffsetsResponse response;
  Status caught_up;
  if (!planted(Bug::kStaleLatestOffset)) caught_up = co_await broker.coordinator.catch_up();
  auto image = broker.coordinator.image();
  std::map<std::pair<std::string_view, std::int32_t>, int> times;
  for (const auto& topic : request.topics) {
    for (const auto& partition : topic.partitions) ++times[{topic.name, partition.partition_index}];
  }
  for (const auto& topic : request.topics) {
    auto& out = response.topics.emplace_back();
    out.name = std::string(topic.name);
    auto found = image->topic(topic.name);
    for (const auto& partition : topic.partitions) {
      int& asked = times[{topic.name, partition.partition_index}];
      if (asked == 0) continue;  // one that stands twice is answered once
      bool is_twice = std::exchange(asked, asked > 1 ? 0 : asked) > 1;
      auto& part = out.partitions.emplace_back();
      part.partition_index = partition.partition_index;
      const metadata::PartitionCell* cell =
          found ? found->partition(partition.partition_index) : nullptr;
      if (is_twice) {
        part.error_code = KafkaError::kInvalidRequest;
      } else if (!caught_up) {
        part.error_code = context.version() < kOffsetNotAvailableVersion
                              ? KafkaError::kLeaderNotAvailable
                              : KafkaError::kOffsetNotAvailable;
      } else if (cell == nullptr) {
        part.error_code = KafkaError::kUnknownTopicOrPartition;
      } else {
        co_await answer(broker, context, image->membership, cell->view(), partition, part);
      }
    }
  }
  co_return response;
}

}  // namespace

const ApiHandler kListOffsetsApi{kafka::ApiKey::kListOffsets,
                                 &serve_reading<&list_offsets, ListOffsetsRequest>};

}  // namespace weir::broker

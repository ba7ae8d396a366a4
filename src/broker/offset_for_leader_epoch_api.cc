// OffsetForLeaderEpoch (KIP-320): consumers ask where an epoch ended, to see whether their log was
// truncated. Here no log ever is: an epoch ends where the next begins, and the current one at the
// high watermark.
#include "broker/apis.h"
#include "broker/broker.h"
#include "fetch/read_plan.h"
#include "kafka/protocol/messages/offset_for_leader_epoch.h"

namespace weir::broker {
namespace {

using kafka::KafkaError;
using kafka::OffsetForLeaderEpochRequest;
using kafka::OffsetForLeaderEpochResponse;

void answer(const metadata::PartitionView& view, LeaderEpoch current,
            const OffsetForLeaderEpochRequest::Partition& asked,
            OffsetForLeaderEpochResponse::Partition& out) {
  out.error_code = fetch::check_leader_epoch(asked.current_leader_epoch, current);
  if (out.error_code != KafkaError::kNone) return;
  auto end = fetch::end_of_epoch(view, current, asked.leader_epoch);
  if (!end) return;  // unknown: -1, -1
  out.leader_epoch = end->epoch;
  out.end_offset = end->offset;
}

Task<OffsetForLeaderEpochResponse> offsets_for_epochs(Broker& broker, const RequestContext&,
                                                      const OffsetForLeaderEpochRequest& request) {
  OffsetForLeaderEpochResponse response;
  std::ignore = co_await broker.coordinator.catch_up();
  auto image = broker.coordinator.image();
  for (const auto& topic : request.topics) {
    auto& out = response.topics.emplace_back();
    out.topic = std::string(topic.topic);
    auto found = image->topic(topic.topic);
    for (const auto& partition : topic.partitions) {
      auto& part = out.partitions.emplace_back();
      part.partition = partition.partition;
      const metadata::PartitionCell* cell = found ? found->partition(partition.partition) : nullptr;
      if (cell == nullptr) {
        part.error_code = KafkaError::kUnknownTopicOrPartition;
      } else {
        answer(cell->view(), image->membership, partition, part);
      }
    }
  }
  co_return response;
}

}  // namespace

const ApiHandler kOffsetForLeaderEpochApi{
    kafka::ApiKey::kOffsetForLeaderEpoch,
    &serve_reading<&offsets_for_epochs, OffsetForLeaderEpochRequest>};

}  // namespace weir::broker

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
  if (asked.leader_epoch < 0 || asked.leader_epoch > current) return;  // unknown: -1, -1
  // Records carry an earlier epoch than the leader's.
  out.leader_epoch = std::min(asked.leader_epoch, view.leader_epoch);
  out.end_offset = view.high_watermark;
  // The epochs of extents do not fall: the first extent of a later epoch starts where the asked one
  // ended.
  for (std::size_t i = view.extents.size();
       i > 0 && view.extents[i - 1].leader_epoch > out.leader_epoch; --i) {
    out.end_offset = view.extents[i - 1].base_offset;
  }
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

const ApiHandler kOffsetForLeaderEpochApi{kafka::ApiKey::kOffsetForLeaderEpoch,
                                          &serve<&offsets_for_epochs, OffsetForLeaderEpochRequest>};

}  // namespace weir::broker

// One partition of a Fetch request and of its answer, in the terms of this module: names and ids
// are already resolved against the cluster image, versions of the protocol do not matter.
#pragma once
#include "base/bytes.h"
#include "base/ids.h"
#include "base/units.h"
#include "kafka/protocol/errors.h"

#include <string>

namespace weir::fetch {

struct PartitionFetch {
  TopicId topic_id;   // zero: named by name only (Fetch below v13)
  std::string topic;  // empty: named by id only (Fetch from v13) and not resolved
  PartitionIndex partition = 0;
  Offset fetch_offset = 0;
  Offset log_start_offset = -1;  // the follower's; ignored, kept for the session
  std::int32_t max_bytes = 0;
  LeaderEpoch current_leader_epoch = -1;
  LeaderEpoch last_fetched_epoch = -1;
};

struct PartitionData {
  kafka::KafkaError error = kafka::KafkaError::kNone;
  Offset high_watermark = kNoOffset;
  Offset last_stable_offset = kNoOffset;
  Offset log_start_offset = kNoOffset;
  Chain records;
};

}  // namespace weir::fetch

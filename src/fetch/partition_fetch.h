// One partition of a Fetch request and of its answer, in the terms of this module: names and ids
// are already resolved against the cluster image, versions of the protocol do not matter.
#pragma once
#include "base/bytes.h"
#include "base/ids.h"
#include "base/units.h"
#include "kafka/protocol/errors.h"

#include <optional>
#include <string>

namespace weir::fetch {

struct PartitionFetch {
  bool by_id = false;  // the topic is named by its id (Fetch from v13), otherwise by its name
  TopicId topic_id;
  std::string topic;
  // Of a topic named by its id: the name it had when a session first saw it.
  std::string known_as;
  PartitionIndex partition = 0;
  Offset fetch_offset = 0;
  Offset log_start_offset = -1;  // the follower's; ignored, kept for the session
  std::int32_t max_bytes = 0;
  LeaderEpoch current_leader_epoch = -1;
  LeaderEpoch last_fetched_epoch = -1;
};

// Where the records of an epoch end.
struct EpochEnd {
  LeaderEpoch epoch = -1;
  Offset offset = kNoOffset;
  bool operator==(const EpochEnd&) const = default;
};

struct PartitionData {
  kafka::KafkaError error = kafka::KafkaError::kNone;
  Offset high_watermark = kNoOffset;
  Offset last_stable_offset = kNoOffset;
  Offset log_start_offset = kNoOffset;
  Chain records;
  // The end of the epoch that the reader has read last, if it has read beyond (KIP-595): its log
  // differs from there on.
  std::optional<EpochEnd> diverging;
};

}  // namespace weir::fetch

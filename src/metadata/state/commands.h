// The commands of the metadata log: what an entry asks the state machine to do, and what applying
// it gives. Plain values. Most are described in metadata/state/entries.schema. A command is applied
// whole or, where it lists items, item by item: each item has its own error.
#pragma once
#include "base/ids.h"
#include "base/units.h"
#include "base/uuid.h"
#include "kafka/protocol/errors.h"
#include "metadata/log/metadata_log.h"
#include "metadata/state/commit_object.h"
#include "metadata/state/entries.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weir::metadata {

using Command =
    std::variant<ClusterCreated, RegisterBroker, FenceBroker, Heartbeat, SetFeatureLevel,
                 CommitObject, ForgetObjects, TrimLogs, AllocateProducerIds, ExpireProducers,
                 CreateTopics, DeleteTopics, CreatePartitions, AlterConfigs, GroupClaim,
                 GroupCommit, OffsetCommit, OffsetDelete, GroupDelete>;

struct BatchResult {
  kafka::KafkaError error = kafka::KafkaError::kNone;
  Offset base_offset = kNoOffset;          // of a duplicate: where the first one stands
  TimestampMs append_time = kNoTimestamp;  // -1 unless the batch's records get the append time;
                                           // of a duplicate: the batch's greatest timestamp
  Offset log_start = kNoOffset;
  bool operator==(const BatchResult&) const = default;
};

struct ItemResult {
  kafka::KafkaError error = kafka::KafkaError::kNone;
  std::int64_t value = -1;  // TrimLogs: the log start that holds
  bool operator==(const ItemResult&) const = default;
};

struct CommandResult {
  kafka::KafkaError error =
      kafka::KafkaError::kNone;  // of the command as a whole: then it had no effect
  std::int64_t value = -1;       // RegisterBroker, AllocateProducerIds, GroupClaim
  std::vector<ItemResult>
      items;  // of commands that list items, in their order; empty when the whole failed
  std::vector<BatchResult> batches;  // of CommitObject, in their order; empty when the whole failed
  bool operator==(const CommandResult&) const = default;
};

}  // namespace weir::metadata

// How each command changes the state: pure functions of the tables, the command and what the record
// says of its writer. They read no clock, no chance, and nothing whose order could differ between
// brokers.
#pragma once
#include "metadata/state/commands.h"
#include "metadata/state/tables.h"

#include <string>
#include <vector>

namespace weir::metadata {

// What an entry, or several, changed for readers.
struct Changes {
  struct Partition {
    TopicPartition name;
    PartitionState* state;
  };
  std::vector<Partition> partitions;  // high watermark or log start; each once
  bool image = false;                 // topics, brokers, configurations
  std::vector<std::string> groups;   // changed in more than offsets, created or deleted; may repeat
  std::vector<std::string> offsets;  // groups whose offsets changed; may repeat
  // Deleted topics stay until their last view is published.
  std::vector<TopicTable::Topics::node_type> removed;
};

struct ApplyContext {
  Position position = 0;
  TimestampMs now = 0;   // the state's time, as of the record
  BrokerId broker = -1;  // who wrote the record,
  Position known = 0;    // and what that one had applied
  BrokerEpoch epoch = -1;
  bool want_results = true;  // false: lists of results may be left empty
  Changes& changes;
};

CommandResult apply(Tables& tables, ApplyContext& context, const ClusterCreated& command);
CommandResult apply(Tables& tables, ApplyContext& context, const RegisterBroker& command);
CommandResult apply(Tables& tables, ApplyContext& context, const FenceBroker& command);
CommandResult apply(Tables& tables, ApplyContext& context, const Heartbeat& command);
CommandResult apply(Tables& tables, ApplyContext& context, const SetFeatureLevel& command);
CommandResult apply(Tables& tables, ApplyContext& context, const CommitObject& command);
CommandResult apply(Tables& tables, ApplyContext& context, const ForgetObjects& command);
CommandResult apply(Tables& tables, ApplyContext& context, const TrimLogs& command);
CommandResult apply(Tables& tables, ApplyContext& context, const AllocateProducerIds& command);
CommandResult apply(Tables& tables, ApplyContext& context, const ExpireProducers& command);
CommandResult apply(Tables& tables, ApplyContext& context, const CreateTopics& command);
CommandResult apply(Tables& tables, ApplyContext& context, const DeleteTopics& command);
CommandResult apply(Tables& tables, ApplyContext& context, const CreatePartitions& command);
CommandResult apply(Tables& tables, ApplyContext& context, const AlterConfigs& command);
CommandResult apply(Tables& tables, ApplyContext& context, const GroupClaim& command);
CommandResult apply(Tables& tables, ApplyContext& context, const GroupCommit& command);
CommandResult apply(Tables& tables, ApplyContext& context, const OffsetCommit& command);
CommandResult apply(Tables& tables, ApplyContext& context, const OffsetDelete& command);
CommandResult apply(Tables& tables, ApplyContext& context, const GroupDelete& command);

}  // namespace weir::metadata

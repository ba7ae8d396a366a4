// The commands of the metadata log: what an entry asks the state machine to do, and what applying
// it gives. Plain values. docs/formats/metadata-log.md describes the bytes; the codec is in
// metadata/state/command_codec.h.
//
// A command is applied whole or, for those that list items, item by item: each item has its own
// error.
#pragma once
#include "base/bytes.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/uuid.h"
#include "kafka/protocol/errors.h"
#include "metadata/log/metadata_log.h"
#include "metadata/state/extent.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weir::metadata {

// ---- brokers and cluster ----

// The identity of the cluster; the first one wins.
struct ClusterCreated {
  Uuid cluster_id;
};

struct Endpoint {
  std::string listener;  // its name, for example INTERNAL
  std::string host;
  std::int32_t port = 0;
  std::string protocol;  // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
  bool operator==(const Endpoint&) const = default;
};

// Gives the broker an epoch (result.value) and fences the registration before it. The same
// incarnation gets the same epoch.
struct RegisterBroker {
  BrokerId broker_id = -1;
  Uuid incarnation;
  std::vector<Endpoint> endpoints;
  std::string rack;
};

// Ends a broker's epoch, if nothing of it was applied after `last_seen` (-1: in any case).
// STALE_BROKER_EPOCH: another epoch, or it is alive.
struct FenceBroker {
  BrokerId broker_id = -1;
  BrokerEpoch epoch = -1;
  Position last_seen = -1;
};

// Does nothing; that it was appended shows that the broker lives.
struct Heartbeat {};

struct SetFeatureLevel {
  std::string feature;
  std::int16_t level = 0;
};

// ---- data ----

// A batch as the state needs it. Producer fields are -1 for batches without idempotence.
struct ObjectBatch {
  std::uint32_t length = 0;            // bytes in the object
  std::int32_t last_offset_delta = 0;  // records - 1
  TimestampMs max_timestamp = kNoTimestamp;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  std::int32_t base_sequence = -1;
};

// Batches of one partition that lie one after the other in the object.
struct ObjectRun {
  TopicId topic;
  PartitionIndex partition = 0;
  std::uint32_t byte_offset = 0;  // of the first batch in the object
  std::uint32_t batch_count = 0;  // at least 1; the next batch_count of CommitObject::batches
};

// Gives the batches of an object their offsets. The object is {epoch of the submitting broker,
// object_sequence} and must be durable. result.batches has one answer per batch, in their order.
// Runs of one topic should stand together.
struct CommitObject {
  std::int64_t object_sequence = 0;
  std::uint32_t object_size = 0;
  std::vector<ObjectRun> runs;
  std::vector<ObjectBatch> batches;
};

// Objects that were deleted from the store; result.items: INVALID_REQUEST for one that is still
// referenced.
struct ForgetObjects {
  std::vector<ObjectId> objects;
};

enum class TrimReason : std::uint8_t { kDeleteRecords = 0, kRetention = 1 };

struct LogTrim {
  TopicId topic;
  PartitionIndex partition = 0;
  Offset log_start = 0;  // -1: the high watermark
};

// Moves log starts forward, never back and never above the high watermark (OFFSET_OUT_OF_RANGE).
// result.items: in order, each with the log start that then holds.
struct TrimLogs {
  TrimReason reason = TrimReason::kDeleteRecords;
  std::vector<LogTrim> trims;
};

// A block of `count` producer ids that no other block ever overlaps; result.value: the first.
struct AllocateProducerIds {
  std::int32_t count = 1000;
};

// Drops producers that have appended nothing for `expiration_ms`.
struct ExpireProducers {
  std::int64_t expiration_ms = 0;
};

// ---- topics and configurations ----

struct ConfigEntry {
  std::string name;
  std::string value;
  bool operator==(const ConfigEntry&) const = default;
};

struct NewTopic {
  std::string name;
  TopicId id;  // random, chosen by the submitter
  std::int32_t partitions = 1;
  std::int16_t replication_factor = 1;
  std::vector<ConfigEntry> configs;
};

// result.items: per topic.
struct CreateTopics {
  std::vector<NewTopic> topics;
};

// result.items: per topic; UNKNOWN_TOPIC_ID.
struct DeleteTopics {
  std::vector<TopicId> topics;
};

// `count` is the new total.
struct CreatePartitions {
  TopicId topic;
  std::int32_t count = 0;
};

// The numbers of the Kafka protocol.
enum class ConfigResourceType : std::int8_t {
  kTopic = 2,
  kBroker = 4,
  kClientMetrics = 16,
  kGroup = 32,
};

// Values that were checked before. `replace` forgets all others of the resource. A topic is named
// by its name.
struct AlterConfigs {
  ConfigResourceType type = ConfigResourceType::kTopic;
  std::string name;
  bool replace = false;
  std::vector<ConfigEntry> sets;
  std::vector<std::string> deletes;
};

// ---- groups ----
// `claim` is what GroupClaim answered; after a later claim the command has no effect and answers
// NOT_COORDINATOR.

// Makes the submitting broker the group's coordinator; result.value: the claim. Creates the group
// where there is none.
struct GroupClaim {
  std::string group;
};

struct GroupMember {
  std::string id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;
  std::int32_t session_timeout_ms = 0;
  std::int32_t rebalance_timeout_ms = 0;
  Slice subscription;  // the member's metadata for the chosen protocol, opaque
  Slice assignment;    // opaque
};

// The group after a completed rebalance, or without members.
struct GroupCommit {
  std::string group;
  Position claim = -1;
  std::string protocol_type;
  std::int32_t generation = 0;
  std::string protocol;
  std::string leader;
  std::vector<GroupMember> members;
};

struct OffsetCommitEntry {
  TopicId topic;
  PartitionIndex partition = 0;
  Offset offset = 0;
  LeaderEpoch leader_epoch = -1;
  TimestampMs commit_time = 0;
  TimestampMs expire_time = kNoTimestamp;  // -1: by the group's rules
  std::string metadata;
};

// result.items: per entry; UNKNOWN_TOPIC_OR_PARTITION where it was deleted meanwhile.
struct OffsetCommit {
  std::string group;
  Position claim = -1;
  std::vector<OffsetCommitEntry> entries;
};

struct OffsetDeleteEntry {
  TopicId topic;
  PartitionIndex partition = 0;
  // Only if the offset that stands was committed at this time (expiry); -1: in any case.
  TimestampMs if_committed_at = kNoTimestamp;
};

struct OffsetDelete {
  std::string group;
  Position claim = -1;
  std::vector<OffsetDeleteEntry> entries;
};

// NON_EMPTY_GROUP with members, GROUP_ID_NOT_FOUND.
struct GroupDelete {
  std::string group;
  Position claim = -1;
};

using Command =
    std::variant<ClusterCreated, RegisterBroker, FenceBroker, Heartbeat, SetFeatureLevel,
                 CommitObject, ForgetObjects, TrimLogs, AllocateProducerIds, ExpireProducers,
                 CreateTopics, DeleteTopics, CreatePartitions, AlterConfigs, GroupClaim,
                 GroupCommit, OffsetCommit, OffsetDelete, GroupDelete>;

// ---- results ----

struct BatchResult {
  kafka::KafkaError error = kafka::KafkaError::kNone;
  Offset base_offset = kNoOffset;          // of a duplicate: where the first one stands
  TimestampMs append_time = kNoTimestamp;  // -1 unless the topic's records get the append time
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
  std::vector<BatchResult> batches;  // of CommitObject
  bool operator==(const CommandResult&) const = default;
};

}  // namespace weir::metadata

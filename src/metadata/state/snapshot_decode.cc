// Parts back to a state.
#include "metadata/state/extent_codec.h"
#include "metadata/state/snapshot_codec.h"
#include "metadata/state/snapshot_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weir::metadata {
namespace {

std::unexpected<Error> corrupt(std::string_view what) {
  return fail(ErrorCode::kCorrupt, fmt::format("metadata snapshot: {}", what));
}

// A count of items that take at least `least` bytes each; failure where they cannot fit.
std::size_t read_count(ByteReader& in, std::size_t least) {
  std::uint64_t count = in.uvarlong();
  if (count <= in.remaining() / least) return static_cast<std::size_t>(count);
  in.set_failed();
  return 0;
}

TopicPartition read_name(ByteReader& in) {
  TopicPartition name;
  name.topic = in.uuid();
  name.partition = static_cast<PartitionIndex>(in.uvarint());
  return name;
}

void read_extents(ByteReader& in, std::size_t count, std::vector<Extent>& extents) {
  extents.reserve(count);
  ExtentDecoder decoder(in);
  for (std::size_t i = 0; i < count && in.ok(); ++i) extents.push_back(decoder.read());
}

PartitionRecord read_partition(ByteReader& in) {
  PartitionRecord record;
  record.name = read_name(in);
  record.log_start = static_cast<Offset>(in.uvarlong());
  record.high_watermark = static_cast<Offset>(in.uvarlong());
  record.begin = in.uvarlong();
  std::size_t before = read_count(in, ExtentDecoder::kLeastBytes);
  record.runs_begin = record.begin + before;
  record.runs_end = record.runs_begin + in.uvarlong();
  std::size_t after = read_count(in, ExtentDecoder::kLeastBytes);
  record.end = record.runs_end + after;
  if (before + after > in.remaining() / ExtentDecoder::kLeastBytes) in.set_failed();
  if (!in.ok()) return record;
  read_extents(in, before + after, record.extents);
  constexpr std::size_t kLeastProducer = 5;
  std::size_t producers = read_count(in, kLeastProducer);
  for (std::size_t i = 0; i < producers && in.ok(); ++i) {
    ProducerId id = in.varlong();
    record.producers.emplace_back(id, read_producer(in));
  }
  return record;
}

DecodedPart read_partitions(ByteReader& in) {
  constexpr std::size_t kLeastPartition = 24;
  PartitionRecords records;
  std::size_t count = read_count(in, kLeastPartition);
  for (std::size_t i = 0; i < count && in.ok(); ++i)
    records.partitions.push_back(read_partition(in));
  return records;
}

DecodedPart read_run(ByteReader& in) {
  ExtentRun run{.name = read_name(in)};
  run.begin = in.uvarlong();
  read_extents(in, read_count(in, ExtentDecoder::kLeastBytes), run.extents);
  return run;
}

DecodedPart read_objects(ByteReader& in) {
  ObjectRecords records;
  ObjectId first;
  first.epoch = in.varlong();
  first.sequence = in.varlong();
  while (in.ok() && in.remaining() > 0) {
    auto delta = in.uvarlong();
    ObjectId id{first.epoch,
                static_cast<std::int64_t>(static_cast<std::uint64_t>(first.sequence) + delta)};
    records.objects.emplace_back(id, read_object(in));
  }
  return records;
}

template <typename M>
Result<DecodedPart> decode_struct(const Slice& body) {
  auto message = kafka::decode<M>(body, M::kMaxVersion);
  if (!message) return corrupt(message.error().message);
  return DecodedPart(std::move(*message));
}

ConfigMap to_map(const std::vector<ConfigEntry>& entries) {
  ConfigMap map;
  for (const ConfigEntry& entry : entries) map[entry.name] = entry.value;
  return map;
}

// Puts the parts together; takes them apart as it goes.
class Assembler {
 public:
  Result<State> run(std::vector<DecodedPart> parts) {
    for (DecodedPart& part : parts) {
      std::visit([&](auto& p) { sort_in(std::move(p)); }, part);
    }
    if (!head_ || !topics_) return corrupt("a part is missing");
    restore_head();
    WEIR_CHECK(restore_topics());
    for (PartitionRecord& record : partitions_) WEIR_CHECK(restore_partition(record));
    if (!runs_.empty()) return corrupt("extents of a partition that has no place for them");
    for (const auto& [id, object] : objects_) tables_.objects.restore(id, object);
    for (SnapshotGroup& group : groups_) restore_group(group);
    auto chain_hash = static_cast<std::uint64_t>(head_->chain_hash);
    if (snapshot_check(head_->position, chain_hash, tables_.hash()) != head_->check) {
      return corrupt("its parts give another state than the one that was written");
    }
    return State(std::move(tables_), HashChain(head_->position, chain_hash));
  }

 private:
  void sort_in(SnapshotHead head) { head_ = std::move(head); }
  void sort_in(SnapshotTopics topics) { topics_ = std::move(topics); }
  void sort_in(SnapshotGroups groups) {
    std::ranges::move(groups.groups, std::back_inserter(groups_));
  }
  void sort_in(PartitionRecords records) {
    std::ranges::move(records.partitions, std::back_inserter(partitions_));
  }
  void sort_in(ExtentRun run) {
    auto key = std::pair(run.name, run.begin);
    runs_[key] = std::move(run.extents);
  }
  void sort_in(ObjectRecords records) {
    std::ranges::move(records.objects, std::back_inserter(objects_));
  }

  void restore_head() {
    tables_.cluster_id = head_->cluster_id;
    tables_.time = head_->time;
    tables_.next_producer_id = head_->next_producer_id;
    tables_.membership = head_->membership;
    for (const SnapshotFeature& feature : head_->features)
      tables_.features[feature.name] = feature.level;
    for (SnapshotBroker& broker : head_->brokers) {
      tables_.brokers[broker.id] = {.image = {.id = broker.id,
                                              .epoch = broker.epoch,
                                              .incarnation = broker.incarnation,
                                              .endpoints = std::move(broker.endpoints),
                                              .rack = std::move(broker.rack),
                                              .metadata_level = broker.metadata_level},
                                    .fenced = broker.fenced,
                                    .last_sequence = broker.last_sequence,
                                    .last_position = broker.last_position};
    }
    for (const SnapshotConfig& config : head_->configs) {
      tables_.configs[{config.type, config.name}] = to_map(config.entries);
    }
  }

  Status restore_topics() {
    std::size_t count = 0;
    for (const NewTopic& topic : topics_->topics) {
      if (topic.partitions < 0) return corrupt("a topic with a negative number of partitions");
      count += static_cast<std::size_t>(topic.partitions);
    }
    // Before anything is made of them.
    if (count != partitions_.size())
      return corrupt("partitions are missing, or belong to no topic");
    for (NewTopic& topic : topics_->topics) {
      if (tables_.topics.find(topic.id) != nullptr || tables_.topics.collides(topic.name)) {
        return corrupt("a topic twice");
      }
      TopicImage image{.id = topic.id,
                       .name = std::move(topic.name),
                       .configs = to_map(topic.configs),
                       .replication_factor = topic.replication_factor};
      TopicState& state = tables_.topics.add(std::move(image));
      tables_.topics.add_partitions(state, topic.partitions, head_->position);
    }
    return {};
  }

  Status restore_partition(PartitionRecord& record) {
    TopicState* topic = tables_.topics.find(record.name.topic);
    PartitionState* partition =
        topic == nullptr ? nullptr : topic->partition(record.name.partition);
    if (partition == nullptr || !restored_.insert(record.name).second) {
      return corrupt("a partition of no topic, or one that comes twice");
    }
    partition->restore(record.begin, record.log_start, record.high_watermark);
    Offset next = 0;
    auto add = [&](const Extent& extent) {
      bool fits = extent.base_offset >= next && extent.base_offset < record.high_watermark &&
                  extent.last_offset_delta < record.high_watermark - extent.base_offset;
      if (!fits) return false;
      next = extent.last_offset() + 1;
      partition->restore_extent(extent);
      return true;
    };
    auto own = record.extents.begin();
    auto split = own + static_cast<std::ptrdiff_t>(record.runs_begin - record.begin);
    bool ordered = std::all_of(own, split, add);
    for (std::uint64_t at = record.runs_begin; at < record.runs_end && ordered;
         at += kExtentsPerRun) {
      auto run = runs_.find({record.name, at});
      if (run == runs_.end() || run->second.size() != kExtentsPerRun)
        return corrupt("extents are missing");
      ordered = std::ranges::all_of(run->second, add);
      runs_.erase(run);
    }
    ordered = ordered && std::all_of(split, record.extents.end(), add);
    if (!ordered || record.log_start > record.high_watermark)
      return corrupt("extents that overlap or lie outside");
    for (const auto& [id, producer] : record.producers) partition->restore_producer(id, producer);
    return {};
  }

  void restore_group(SnapshotGroup& from) {
    GroupImage group{.id = std::move(from.id),
                     .owner = from.owner,
                     .claim = from.claim,
                     .protocol_type = std::move(from.protocol_type),
                     .generation = from.generation,
                     .protocol = std::move(from.protocol),
                     .leader = std::move(from.leader),
                     .members = CowPtr<std::vector<GroupMember>>::make(std::move(from.members)),
                     .state_time = from.state_time};
    for (OffsetCommitEntry& offset : from.offsets) {
      tables_.groups.set_offset(group, {offset.topic, offset.partition},
                                {.offset = offset.offset,
                                 .leader_epoch = offset.leader_epoch,
                                 .commit_time = offset.commit_time,
                                 .expire_time = offset.expire_time,
                                 .metadata = std::move(offset.metadata)});
    }
    tables_.groups.put(std::move(group), GroupTable::Changed::kAll);
  }

  std::optional<SnapshotHead> head_;
  std::optional<SnapshotTopics> topics_;
  std::vector<SnapshotGroup> groups_;
  std::vector<PartitionRecord> partitions_;
  std::map<std::pair<TopicPartition, std::uint64_t>, std::vector<Extent>> runs_;
  std::vector<std::pair<ObjectId, ObjectState>> objects_;
  std::set<TopicPartition> restored_;
  Tables tables_;
};

}  // namespace

Result<DecodedPart> decode_part(const Slice& bytes) {
  if (bytes.size() < 2) return corrupt("a part is cut short");
  auto kind = static_cast<PartKind>(bytes.bytes()[0]);
  if (bytes.bytes()[1] != std::byte{0} || kind > PartKind::kObjects) {
    return fail(ErrorCode::kInvalid, "the metadata snapshot was written by a newer Weir");
  }
  Slice body = bytes.sub(2);
  ByteReader in(body.bytes());
  DecodedPart part;
  switch (kind) {
    case PartKind::kHead:
      return decode_struct<SnapshotHead>(body);
    case PartKind::kTopics:
      return decode_struct<SnapshotTopics>(body);
    case PartKind::kGroups:
      return decode_struct<SnapshotGroups>(body);
    case PartKind::kPartitions:
      part = read_partitions(in);
      break;
    case PartKind::kExtentRun:
      part = read_run(in);
      break;
    case PartKind::kObjects:
      part = read_objects(in);
      break;
    default:
      return corrupt("a part of no kind");
  }
  if (!in.done()) return corrupt("a part is too short, too long, or has a number out of range");
  return part;
}

Result<State> assemble(std::vector<DecodedPart> parts) { return Assembler().run(std::move(parts)); }

}  // namespace weir::metadata

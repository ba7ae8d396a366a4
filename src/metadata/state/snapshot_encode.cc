// What snapshots are made of: frozen state to parts.
#include "metadata/state/extent_codec.h"
#include "metadata/state/snapshot_codec.h"
#include "metadata/state/snapshot_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace weir::metadata {
namespace {

using Frozen = std::shared_ptr<const FrozenState>;

// Partitions and groups are spread over parts by their hash; about this many share one.
constexpr std::size_t kPartitionsPerPart = 64;
constexpr std::size_t kGroupsPerPart = 64;
// Objects of one epoch with sequences of one such range share a part.
constexpr std::int64_t kObjectsPerPart = 4096;

std::size_t part_count(std::size_t items, std::size_t per_part) {
  return std::bit_ceil(std::max<std::size_t>(1, items / per_part));
}

template <typename M>
Slice encode_struct(PartKind kind, const M& message) {
  ByteWriter out;
  out.u8(static_cast<std::uint8_t>(kind));
  out.u8(static_cast<std::uint8_t>(M::kMaxVersion));
  // Only a string longer than its length field fails, which flexible versions do not have.
  out.bytes(kafka::encode(message, M::kMaxVersion).value().flatten().bytes());
  return out.to_slice();
}

ByteWriter begin_part(PartKind kind) {
  ByteWriter out;
  out.u8(static_cast<std::uint8_t>(kind));
  out.u8(0);
  return out;
}

std::vector<ConfigEntry> to_entries(const ConfigMap& configs) {
  std::vector<ConfigEntry> entries;
  for (const auto& [name, value] : configs) entries.push_back({name, value});
  return entries;
}

Slice encode_head(const FrozenState& frozen) {
  SnapshotHead head{.position = frozen.position,
                    .chain_hash = static_cast<std::int64_t>(frozen.chain_hash),
                    .check = snapshot_check(frozen.position, frozen.chain_hash, frozen.state_hash),
                    .cluster_id = frozen.cluster_id,
                    .time = frozen.time,
                    .next_producer_id = frozen.next_producer_id,
                    .membership = frozen.membership};
  for (const auto& [name, level] : frozen.features) head.features.push_back({name, level});
  for (const auto& [id, broker] : frozen.brokers) {
    head.brokers.push_back({.id = id,
                            .epoch = broker.image.epoch,
                            .incarnation = broker.image.incarnation,
                            .endpoints = broker.image.endpoints,
                            .rack = broker.image.rack,
                            .fenced = broker.fenced,
                            .last_sequence = broker.last_sequence,
                            .last_position = broker.last_position,
                            .metadata_level = broker.image.metadata_level});
  }
  for (const auto& [resource, configs] : frozen.configs) {
    head.configs.push_back({resource.type, resource.name, to_entries(configs)});
  }
  return encode_struct(PartKind::kHead, head);
}

Slice encode_topics(const FrozenState& frozen) {
  SnapshotTopics topics;
  frozen.topics.for_each([&](const TopicId& id, const std::shared_ptr<const TopicImage>& image) {
    topics.topics.push_back({.name = image->name,
                             .id = id,
                             .partitions = image->partition_count(),
                             .replication_factor = image->replication_factor,
                             .configs = to_entries(image->configs)});
  });
  return encode_struct(PartKind::kTopics, topics);
}

SnapshotGroup to_snapshot(const GroupImage& group) {
  SnapshotGroup out{.id = group.id,
                    .owner = group.owner,
                    .claim = group.claim,
                    .protocol_type = group.protocol_type,
                    .generation = group.generation,
                    .protocol = group.protocol,
                    .leader = group.leader,
                    .members = *group.members,
                    .state_time = group.state_time};
  group.offsets.for_each([&](const TopicPartition& partition, const CommittedOffset& offset) {
    out.offsets.push_back({.topic = partition.topic,
                           .partition = partition.partition,
                           .offset = offset.offset,
                           .leader_epoch = offset.leader_epoch,
                           .commit_time = offset.commit_time,
                           .expire_time = offset.expire_time,
                           .metadata = offset.metadata});
  });
  return out;
}

// The ordinals of an ExtentsView that lie in whole runs.
struct Runs {
  std::uint64_t begin;
  std::uint64_t end;
};

Runs runs_of(const ExtentsView& extents) {
  std::uint64_t end = (extents.first_ordinal() + extents.size()) / kExtentsPerRun * kExtentsPerRun;
  std::uint64_t begin =
      (extents.first_ordinal() + kExtentsPerRun - 1) / kExtentsPerRun * kExtentsPerRun;
  return {begin, std::max(begin, end)};
}

void write_name(ByteWriter& out, const TopicPartition& name) {
  out.uuid(name.topic);
  out.uvarint(static_cast<std::uint32_t>(name.partition));
}

void write_partition(ByteWriter& out, const FrozenPartition& partition) {
  const ExtentsView& extents = partition.extents;
  std::uint64_t begin = extents.first_ordinal();
  std::uint64_t end = begin + extents.size();
  Runs runs = runs_of(extents);
  // Without runs all extents are written here.
  if (runs.begin == runs.end) runs = {begin, begin};
  write_name(out, partition.name);
  out.uvarlong(static_cast<std::uint64_t>(partition.log_start));
  out.uvarlong(static_cast<std::uint64_t>(partition.high_watermark));
  out.uvarlong(begin);
  out.uvarlong(runs.begin - begin);
  out.uvarlong(runs.end - runs.begin);
  out.uvarlong(end - runs.end);
  ExtentEncoder encoder(out);
  for (std::uint64_t i = begin; i < end; ++i) {
    if (i < runs.begin || i >= runs.end) encoder.write(extents[i - begin]);
  }
  out.uvarlong(partition.producers.size());
  partition.producers.for_each([&](ProducerId id, const ProducerState& producer) {
    out.varlong(id);
    write(out, producer);
  });
}

Slice encode_run(const FrozenPartition& partition, std::uint64_t begin) {
  ByteWriter out = begin_part(PartKind::kExtentRun);
  write_name(out, partition.name);
  out.uvarlong(begin);
  out.uvarlong(kExtentsPerRun);
  ExtentEncoder encoder(out);
  std::uint64_t first = begin - partition.extents.first_ordinal();
  for (std::uint64_t i = 0; i < kExtentsPerRun; ++i) encoder.write(partition.extents[first + i]);
  return out.to_slice();
}

void plan_partitions(const Frozen& frozen, std::vector<SnapshotPart>& parts) {
  std::size_t count = part_count(frozen->partitions.size(), kPartitionsPerPart);
  std::vector<std::vector<const FrozenPartition*>> buckets(count);
  for (const FrozenPartition& partition : frozen->partitions) {
    buckets[partition.name_hash % count].push_back(&partition);
    Runs runs = runs_of(partition.extents);
    for (std::uint64_t begin = runs.begin; begin < runs.end; begin += kExtentsPerRun) {
      parts.push_back(
          {.name = fmt::format("extents/{}/{}/{}", partition.name.topic.to_string(),
                               partition.name.partition, begin / kExtentsPerRun),
           .version = 1,
           .encode = [frozen, &partition, begin] { return encode_run(partition, begin); }});
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (buckets[i].empty()) continue;
    std::ranges::sort(buckets[i], {}, &FrozenPartition::name);
    // Which partitions there are, and when one of them changed last.
    std::uint64_t names = 0;
    Position changed = 0;
    for (const FrozenPartition* partition : buckets[i]) {
      names += partition->name_hash;
      changed = std::max(changed, partition->changed);
    }
    parts.push_back({.name = fmt::format("partitions/{}-of-{}", i, count),
                     .version = names ^ static_cast<std::uint64_t>(changed),
                     .encode = [frozen, bucket = std::move(buckets[i])] {
                       ByteWriter out = begin_part(PartKind::kPartitions);
                       out.uvarlong(bucket.size());
                       for (const FrozenPartition* partition : bucket)
                         write_partition(out, *partition);
                       return out.to_slice();
                     }});
  }
}

void plan_objects(const Frozen& frozen, std::vector<SnapshotPart>& parts) {
  // Where each range begins; the objects are in order.
  std::vector<ObjectId> ranges;
  frozen->objects.for_each([&](const ObjectId& id, const ObjectState&) {
    ObjectId range{id.epoch, id.sequence / kObjectsPerPart};
    if (ranges.empty() || ranges.back() != range) ranges.push_back(range);
  });
  for (const ObjectId& range : ranges) {
    parts.push_back(
        {.name = fmt::format("objects/{}/{}", range.epoch, range.sequence),
         .encode = [frozen, range] {
           ByteWriter out = begin_part(PartKind::kObjects);
           out.varlong(range.epoch);
           out.varlong(range.sequence * kObjectsPerPart);
           ObjectId first{range.epoch, range.sequence * kObjectsPerPart};
           frozen->objects.for_each_from(first, [&](const ObjectId& id, const ObjectState& object) {
             if (id.epoch != range.epoch || id.sequence / kObjectsPerPart != range.sequence)
               return false;
             out.uvarlong(static_cast<std::uint64_t>(id.sequence - first.sequence));
             write(out, object);
             return true;
           });
           return out.to_slice();
         }});
  }
}

void plan_groups(const Frozen& frozen, std::vector<SnapshotPart>& parts) {
  std::size_t count = part_count(frozen->groups.size(), kGroupsPerPart);
  std::vector<std::vector<std::shared_ptr<const GroupImage>>> buckets(count);
  frozen->groups.for_each(
      [&](const std::string& id, const std::shared_ptr<const GroupImage>& group) {
        buckets[ItemWriter().text(id).hash(ItemKind::kGroup) % count].push_back(group);
      });
  for (std::size_t i = 0; i < count; ++i) {
    if (buckets[i].empty()) continue;
    parts.push_back({.name = fmt::format("groups/{}-of-{}", i, count),
                     .encode = [bucket = std::move(buckets[i])] {
                       SnapshotGroups groups;
                       for (const auto& group : bucket)
                         groups.groups.push_back(to_snapshot(*group));
                       return encode_struct(PartKind::kGroups, groups);
                     }});
  }
}

}  // namespace

std::vector<SnapshotPart> plan_snapshot(std::shared_ptr<const FrozenState> frozen) {
  std::vector<SnapshotPart> parts;
  parts.push_back({.name = "head", .encode = [frozen] { return encode_head(*frozen); }});
  parts.push_back({.name = "topics", .encode = [frozen] { return encode_topics(*frozen); }});
  plan_partitions(frozen, parts);
  plan_objects(frozen, parts);
  plan_groups(frozen, parts);
  return parts;
}

}  // namespace weir::metadata

#include "kafka/protocol/messages/fetch.h"
#include "kafka/protocol/messages/find_coordinator.h"
#include "kafka/protocol/messages/offset_commit.h"
#include "kafka/protocol/messages/offset_fetch.h"
#include "kafka/records/record.h"
#include "kafka/records/record_batch.h"
#include "sim/clients.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

using kafka::KafkaError;
using std::chrono::milliseconds;

}  // namespace

Consumer::Consumer(ClientParts parts, int number)
    : parts_(std::move(parts)),
      group_id_(fmt::format("group-{}", number)),
      machine_(parts_.world.add_machine()),
      rng_(parts_.world.fork()),
      positions_(static_cast<std::size_t>(parts_.partitions)) {}

void Consumer::start() { group_.spawn(machine_.executor(), run()); }

void Consumer::start_last_reading() {
  positions_.assign(positions_.size(), {});
  group_.spawn(machine_.executor(), read_all());
}

bool Consumer::at_end() const {
  return std::ranges::all_of(positions_, [](const Position& position) {
    return position.high_watermark >= 0 && position.next >= position.high_watermark;
  });
}

Task<void> Consumer::run() {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  Link coordinator(parts_.world, machine_, parts_.weather, parts_.nodes);
  while (!group_.stopping()) {
    if (!co_await fetch(link)) {
      link.choose();
      co_await group_.sleep(machine_.clock(), milliseconds(100));
    }
    if (rng_.below(10) == 0) link.choose();
    if (rng_.below(4) == 0) co_await commit(coordinator);
    if (rng_.below(4) == 0) co_await check_commit(coordinator);
    co_await group_.sleep(machine_.clock(), milliseconds(rng_.below(200)));
  }
}

Task<void> Consumer::read_all() {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  while (!group_.stopping() && !at_end()) {
    if (co_await fetch(link)) continue;
    link.choose();
    co_await group_.sleep(machine_.clock(), milliseconds(50));
  }
}

Task<bool> Consumer::fetch(Link& link) {
  kafka::FetchRequest request;
  request.max_wait_ms = 100;
  request.min_bytes = 1;
  request.max_bytes = 1 << 20;
  auto& topic = request.topics.emplace_back();
  topic.topic = parts_.topic;
  for (PartitionIndex partition = 0; partition < parts_.partitions; ++partition) {
    topic.partitions.push_back(
        {.partition = partition,
         .fetch_offset = positions_[static_cast<std::size_t>(partition)].next,
         .partition_max_bytes = static_cast<std::int32_t>(1 + rng_.below(4096))});
  }
  auto response = co_await link.call<kafka::FetchResponse>(request, 12);
  if (!response || response->error_code != KafkaError::kNone) co_return false;
  if (response->responses.empty()) co_return false;
  bool good = true;
  for (const auto& partition : response->responses.front().partitions) {
    if (partition.error_code == KafkaError::kNone) {
      take(link, partition);
      continue;
    }
    good = false;
    // A broker that is behind must wait or say so; it does not know better than the consumer.
    if (partition.error_code == KafkaError::kOffsetOutOfRange ||
        partition.error_code == KafkaError::kCorruptMessage) {
      parts_.history.violate(
          "no wrong errors",
          fmt::format("fetch of {}/{}: {}", partition.partition_index,
                      positions_[static_cast<std::size_t>(partition.partition_index)].next,
                      kafka::to_string(partition.error_code)));
    }
  }
  co_return good;
}

void Consumer::take(Link& link, const kafka::FetchResponse::Partition& partition) {
  Position& position = positions_[static_cast<std::size_t>(partition.partition_index)];
  position.high_watermark = std::max(position.high_watermark, partition.high_watermark);
  parts_.history.tell([&](Checker& checker) {
    checker.on_bounds(link.connection(), partition.partition_index, partition.log_start_offset,
                      partition.high_watermark);
  });
  position.next = std::max(position.next, partition.log_start_offset);
  if (partition.records) take_records(partition.partition_index, partition.records->flatten());
}

void Consumer::take_records(PartitionIndex partition, const Slice& records) {
  Position& position = positions_[static_cast<std::size_t>(partition)];
  for (Bytes rest = records.bytes(); !rest.empty();) {
    auto batch = kafka::RecordBatchView::first_of(rest);
    if (!batch || !batch->crc_matches()) {
      parts_.history.violate("every batch is whole",
                             fmt::format("partition {} after {}", partition, position.next));
      return;
    }
    kafka::RecordReader reader(batch->records());
    while (auto record = reader.next()) {
      const Offset offset = batch->base_offset() + record->offset_delta;
      if (offset < position.next) continue;
      if (offset != position.next) {
        parts_.history.violate("dense offsets", fmt::format("partition {}: {} follows {}",
                                                            partition, offset, position.next - 1));
      }
      position.next = offset + 1;
      const Seen seen{.partition = partition,
                      .offset = offset,
                      .value = std::string(as_text(record->value.value_or(Bytes())))};
      parts_.history.tell([&](Checker& checker) { checker.on_read(seen); });
      ++parts_.history.read;
    }
    rest = rest.subspan(batch->size());
  }
}

Task<void> Consumer::commit(Link& link) {
  kafka::FindCoordinatorRequest find;
  find.coordinator_keys.push_back(group_id_);
  auto found = co_await link.call<kafka::FindCoordinatorResponse>(find, 4);
  if (!found || found->coordinators.empty() ||
      found->coordinators.front().error_code != KafkaError::kNone) {
    link.choose();
    co_return;
  }
  link.choose(found->coordinators.front().node_id);
  kafka::OffsetCommitRequest request;
  request.group_id = group_id_;
  auto& topic = request.topics.emplace_back();
  topic.name = parts_.topic;
  std::vector<Offset> offsets;
  for (PartitionIndex partition = 0; partition < parts_.partitions; ++partition) {
    offsets.push_back(positions_[static_cast<std::size_t>(partition)].next);
    topic.partitions.push_back({.partition_index = partition, .committed_offset = offsets.back()});
  }
  auto response = co_await link.call<kafka::OffsetCommitResponse>(request, 8);
  if (!response) {
    link.choose();
    co_return;
  }
  for (const auto& partition : response->topics.at(0).partitions) {
    if (partition.error_code != KafkaError::kNone) continue;
    parts_.history.tell([&](Checker& checker) {
      checker.on_committed(group_id_, partition.partition_index,
                           offsets[static_cast<std::size_t>(partition.partition_index)]);
    });
  }
}

Task<void> Consumer::check_commit(Link& link) {
  kafka::OffsetFetchRequest request;
  auto& group = request.groups.emplace_back();
  group.group_id = group_id_;
  group.topics = std::nullopt;
  auto response = co_await link.call<kafka::OffsetFetchResponse>(request, 8);
  if (!response || response->groups.empty() ||
      response->groups.front().error_code != KafkaError::kNone) {
    link.choose();
    co_return;
  }
  std::vector<Offset> offsets(positions_.size(), -1);
  for (const auto& topic : response->groups.front().topics) {
    for (const auto& partition : topic.partitions) {
      if (partition.error_code != KafkaError::kNone) co_return;
      offsets[static_cast<std::size_t>(partition.partition_index)] = partition.committed_offset;
    }
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    // Nothing committed reads as -1; nobody was told of an offset then.
    parts_.history.tell([&](Checker& checker) {
      checker.on_committed_read(group_id_, static_cast<PartitionIndex>(i),
                                std::max<Offset>(offsets[i], 0));
    });
  }
}

}  // namespace weir::sim

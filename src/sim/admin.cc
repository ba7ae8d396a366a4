#include "sim/admin.h"

#include "kafka/protocol/messages/create_partitions.h"
#include "kafka/protocol/messages/create_topics.h"
#include "kafka/protocol/messages/delete_records.h"
#include "kafka/protocol/messages/delete_topics.h"
#include "kafka/protocol/messages/incremental_alter_configs.h"
#include "kafka/protocol/messages/produce.h"
#include "kafka/records/batch_builder.h"

#include <fmt/format.h>

#include <array>

namespace weir::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::int32_t kTimeoutMs = 5000;

}  // namespace

Admin::Admin(ClientParts parts, int number)
    : parts_(std::move(parts)),
      number_(number),
      machine_(parts_.world.add_machine()),
      rng_(parts_.world.fork()),
      link_(parts_.world, machine_, parts_.weather, parts_.nodes) {}

Task<void> Admin::run() {
  using Action = Task<void> (Admin::*)();
  constexpr std::array<Action, 10> kActions{
      &Admin::ask_for_end,    &Admin::ask_for_end,  &Admin::ask_for_end,    &Admin::delete_records,
      &Admin::delete_records, &Admin::create_topic, &Admin::write_to_topic, &Admin::grow_topic,
      &Admin::delete_topic,   &Admin::alter_configs};
  while (!tasks_.stopping()) {
    co_await (this->*kActions[rng_.below(kActions.size())])();
    if (rng_.below(2) == 0) link_.choose();
    co_await tasks_.sleep(machine_.clock(), milliseconds(rng_.below(500)));
  }
}

Where Admin::any_partition(std::int32_t topic) {
  const std::vector<Where> all = partitions_of(parts_.partitions, topic);
  return all[rng_.below(all.size())];
}

std::string Admin::any_topic() {
  return topics_.empty() ? "none" : topics_[rng_.below(topics_.size())];
}

Task<void> Admin::ask_for_end() {
  constexpr TimestampMs kLatest = -1;
  const Where where = any_partition(rng_.below(2) == 0 ? kOrders : kEvents);
  const Moment asked = parts_.history.next_moment();
  auto end = co_await list_offset(link_, where, kLatest);
  if (!end) co_return;
  ends_[where] = *end;
  parts_.history.tell([&](Checker& checker) {
    checker.on_latest(where, asked, *end);
    checker.on_end_told(where, link_.answered(), *end);
  });
}

// Up to any offset that is there, or was: an older one than the last must change nothing.
Task<void> Admin::delete_records() {
  const Where where = any_partition(kEvents);
  const Offset end = ends_[where];
  if (end == 0) co_return;
  const auto offset = static_cast<Offset>(rng_.below(static_cast<std::uint64_t>(end) + 1));
  parts_.world.tell(to_string(where), [&] {
    return fmt::format("records of {} before {} shall be deleted", to_string(where), offset);
  });
  parts_.history.tell([&](Checker& checker) { checker.on_trim_asked(where, offset); });
  kafka::DeleteRecordsRequest request;
  request.timeout_ms = kTimeoutMs;
  auto& topic = request.topics.emplace_back();
  topic.name = topic_name(where.topic);
  topic.partitions.push_back({.partition_index = where.partition, .offset = offset});
  std::ignore = co_await link_.call<kafka::DeleteRecordsResponse>(request, 2);
}

Task<void> Admin::create_topic() {
  constexpr std::size_t kTopics = 3;
  if (topics_.size() >= kTopics) co_return;
  topics_.push_back(fmt::format("temporary-{}-{}", number_, ++made_));
  kafka::CreateTopicsRequest request;
  request.timeout_ms = kTimeoutMs;
  auto& topic = request.topics.emplace_back();
  topic.name = topics_.back();
  topic.num_partitions = static_cast<std::int32_t>(1 + rng_.below(3));
  topic.replication_factor = 1;
  if (rng_.below(2) == 0) topic.configs.push_back({.name = "retention.ms", .value = "2000"});
  if (rng_.below(2) == 0) topic.configs.push_back({.name = "retention.bytes", .value = "300"});
  std::ignore = co_await link_.call<kafka::CreateTopicsResponse>(request, 7);
}

Task<void> Admin::grow_topic() {
  const std::string name = any_topic();
  kafka::CreatePartitionsRequest request;
  request.timeout_ms = kTimeoutMs;
  request.topics.push_back({.name = name,
                            .count = static_cast<std::int32_t>(2 + rng_.below(4)),
                            .assignments = std::nullopt});
  std::ignore = co_await link_.call<kafka::CreatePartitionsResponse>(request, 3);
}

Task<void> Admin::write_to_topic() {
  const std::string name = any_topic();
  kafka::RecordBatchBuilder builder({.compression = {}, .log_append_time = {}});
  const std::size_t count = 1 + rng_.below(5);
  for (std::size_t i = 0; i < count; ++i)
    builder.append(machine_.clock().wall_ms(), std::nullopt, as_bytes(name));
  kafka::ProduceRequest request;
  request.acks = -1;
  request.timeout_ms = kTimeoutMs;
  auto& topic = request.topic_data.emplace_back();
  topic.name = name;
  topic.partition_data.push_back({.index = 0, .records = builder.build().value()});
  std::ignore = co_await link_.call<kafka::ProduceResponse>(request, 9);
}

Task<void> Admin::delete_topic() {
  if (topics_.empty()) co_return;
  const std::string name = any_topic();
  std::erase(topics_, name);
  kafka::DeleteTopicsRequest request;
  request.timeout_ms = kTimeoutMs;
  request.topics.push_back({.name = name, .topic_id = {}});
  std::ignore = co_await link_.call<kafka::DeleteTopicsResponse>(request, 6);
}

Task<void> Admin::alter_configs() {
  constexpr std::int8_t kTopic = 2;
  constexpr std::array<std::string_view, 6> kCodecs{"producer", "uncompressed", "gzip",
                                                    "snappy",   "lz4",          "zstd"};
  const std::string name =
      rng_.below(3) == 0 ? any_topic() : topic_name(static_cast<std::int32_t>(rng_.below(2)));
  kafka::IncrementalAlterConfigsRequest request;
  auto& resource = request.resources.emplace_back();
  resource.resource_type = kTopic;
  resource.resource_name = name;
  if (rng_.below(4) == 0) {
    resource.configs.push_back({.name = "message.timestamp.type",
                                .value = rng_.below(2) == 0 ? "CreateTime" : "LogAppendTime"});
  } else {
    resource.configs.push_back(
        {.name = "compression.type", .value = kCodecs[rng_.below(kCodecs.size())]});
  }
  std::ignore = co_await link_.call<kafka::IncrementalAlterConfigsResponse>(request, 1);
}

}  // namespace weir::sim

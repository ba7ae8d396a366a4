#include "kafka/protocol/messages/init_producer_id.h"
#include "kafka/protocol/messages/produce.h"
#include "kafka/records/batch_builder.h"
#include "sim/clients.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

using kafka::KafkaError;
using std::chrono::milliseconds;

constexpr std::size_t kInFlight = 5;

}  // namespace

Producer::Producer(ClientParts parts, int number, bool idempotent, std::uint64_t records)
    : parts_(std::move(parts)),
      name_(fmt::format("{}{}", idempotent ? 'i' : 'p', number)),
      idempotent_(idempotent),
      records_(records),
      machine_(parts_.world.add_machine()),
      rng_(parts_.world.fork()) {}

std::string Producer::value(const Where& where, std::uint64_t number) const {
  return fmt::format("{}-{}-{}-{}", name_, where.topic, where.partition, number);
}

void Producer::start() {
  running_ = 1;
  group_.spawn(machine_.executor(), run());
}

Task<void> Producer::run() {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  if (idempotent_) co_await get_producer_id(link);
  for (const Where& where : parts_.partitions) {
    ++running_;
    group_.spawn(machine_.executor(), run_partition(where));
  }
  --running_;
}

Task<void> Producer::get_producer_id(Link& link) {
  kafka::InitProducerIdRequest request;
  request.transactional_id = std::nullopt;
  while (!group_.stopping()) {
    auto response = co_await link.call<kafka::InitProducerIdResponse>(request, 4);
    if (response && response->error_code == KafkaError::kNone) {
      id_ = response->producer_id;
      epoch_ = response->producer_epoch;
      co_return;
    }
    link.choose();
    co_await group_.sleep(machine_.clock(), milliseconds(100));
  }
}

// A window of batches is sent one after the other without waiting. What was not acknowledged is
// sent again, from the first on and in order, as clients do.
Task<void> Producer::run_partition(Where where) {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  std::deque<Batch> window;
  std::uint64_t next = 0;
  while (!group_.stopping() && (next < records_ || !window.empty())) {
    // No new ones beside one that failed: the broker knows the last five only.
    const std::size_t size = window.empty() ? 1 + rng_.below(kInFlight) : 0;
    while (window.size() < size && next < records_) {
      const auto count = std::min<std::uint64_t>(1 + rng_.below(4), records_ - next);
      window.push_back({.first = next, .count = static_cast<std::int32_t>(count)});
      next += count;
    }
    TaskGroup sending;
    for (Batch& batch : window) sending.spawn(machine_.executor(), send(link, where, batch));
    co_await sending.join();
    bool failed = false;
    while (!window.empty() && window.front().acknowledged) window.pop_front();
    for (const Batch& batch : window) failed |= !batch.acknowledged;
    std::erase_if(window, [](const Batch& batch) { return batch.acknowledged; });
    if (failed) link.choose();
    co_await group_.sleep(machine_.clock(), milliseconds(failed ? 100 : rng_.below(1000)));
  }
  --running_;
}

Slice Producer::encode(const Where& where, const Batch& batch) const {
  kafka::RecordBatchBuilder builder(
      {.compression = {},
       .producer_id = id_,
       .producer_epoch = epoch_,
       .base_sequence = idempotent_ ? static_cast<std::int32_t>(batch.first) : -1,
       .log_append_time = {}});
  for (std::int32_t i = 0; i < batch.count; ++i) {
    const std::string text = value(where, batch.first + static_cast<std::uint64_t>(i));
    builder.append(machine_.clock().wall_ms(), std::nullopt, as_bytes(text));
  }
  return builder.build().value();
}

Task<void> Producer::send(Link& link, Where where, Batch& batch) {
  kafka::ProduceRequest request;
  request.acks = -1;
  request.timeout_ms = 30'000;
  auto& topic = request.topic_data.emplace_back();
  topic.name = topic_name(where.topic);
  topic.partition_data.push_back({.index = where.partition, .records = encode(where, batch)});
  const std::uint64_t number = ++sent_;
  ++batch.attempts;
  auto response = co_await link.call<kafka::ProduceResponse>(request, 9);
  auto fail_with = [&](const std::string& error) {
    troubled_ = where;
    trouble_ = fmt::format("{}: {}", value(where, batch.first), error);
    parts_.world.tell(to_string(where), [&] { return trouble_; });
  };
  if (!response) co_return fail_with(response.error().to_string());
  const auto& answer = response->responses.at(0).partition_responses.at(0);
  if (answer.error_code != KafkaError::kNone) {
    co_return fail_with(fmt::format("{} {}", kafka::to_string(answer.error_code),
                                    answer.error_message.value_or("")));
  }
  batch.acknowledged = true;
  acknowledge(where, batch, answer.base_offset);
  // Only what went over one connection has an order that a plain producer can rely on.
  if (idempotent_ || batch.attempts > 1) co_return;
  const SentBatch sent{.connection = link.connection(),
                       .number = number,
                       .where = where,
                       .base_offset = answer.base_offset};
  parts_.history.tell([&](Checker& checker) { checker.on_batch(sent); });
}

void Producer::acknowledge(const Where& where, const Batch& batch, Offset base_offset) {
  parts_.world.tell(to_string(where), [&] {
    return fmt::format("{} and {} more are acknowledged at {}", value(where, batch.first),
                       batch.count - 1, base_offset);
  });
  for (std::int32_t i = 0; i < batch.count; ++i) {
    const Seen seen{.where = where,
                    .offset = base_offset + i,
                    .value = value(where, batch.first + static_cast<std::uint64_t>(i)),
                    .at = parts_.history.next_moment()};
    parts_.history.tell([&](Checker& checker) { checker.on_acknowledged(seen); });
    ++parts_.history.acknowledged;
  }
}

}  // namespace weir::sim

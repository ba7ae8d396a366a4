#include "kafka/protocol/messages/init_producer_id.h"
#include "kafka/records/batch_builder.h"
#include "sim/clients.h"

#include <fmt/format.h>

#include <array>

namespace weir::sim {
namespace {

using kafka::KafkaError;
using std::chrono::milliseconds;

constexpr std::size_t kInFlight = 5;

// Half of them do not compress.
kafka::Codec draw_codec(Rng& rng) {
  constexpr std::array kCodecs = {kafka::Codec::kGzip, kafka::Codec::kSnappy, kafka::Codec::kLz4,
                                  kafka::Codec::kZstd};
  return rng.below(2) == 0 ? kafka::Codec::kNone : kCodecs[rng.below(kCodecs.size())];
}

std::int16_t draw_acks(Rng& rng, ProducerKind kind) {
  if (kind == ProducerKind::kSilent) return 0;
  return kind == ProducerKind::kPlain && rng.below(2) == 0 ? 1 : -1;
}

char letter_of(ProducerKind kind) {
  if (kind == ProducerKind::kSilent) return 's';
  return kind == ProducerKind::kPlain ? 'p' : 'i';
}

}  // namespace

Producer::Producer(ClientParts parts, int number, ProducerKind kind, std::uint64_t records)
    : parts_(std::move(parts)),
      name_(fmt::format("{}{}", letter_of(kind), number)),
      kind_(kind),
      records_(records),
      machine_(parts_.world.add_machine()),
      rng_(parts_.world.fork()),
      acks_(draw_acks(rng_, kind)),
      codec_(draw_codec(rng_)) {}

std::string Producer::value(const Where& where, std::uint64_t number) const {
  return fmt::format("{}-{}-{}-{}", name_, where.topic, where.partition, number);
}

void Producer::start() {
  running_ = 1;
  group_.spawn(machine_.executor(), run());
}

Task<void> Producer::run() {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  if (kind_ == ProducerKind::kIdempotent) co_await get_producer_id(link);
  for (const std::vector<Where>& together : draw_connections()) {
    ++running_;
    group_.spawn(machine_.executor(), kind_ == ProducerKind::kSilent
                                          ? run_silent_connection(together)
                                          : run_connection(together));
  }
  --running_;
}

// Which partitions go over one connection: each has its own, or a few share one, whose requests
// hold batches of several then.
std::vector<std::vector<Where>> Producer::draw_connections() {
  const bool shares = rng_.below(2) == 0;
  const std::size_t most = shares ? 1 + rng_.below(parts_.partitions.size()) : 1;
  std::vector<std::vector<Where>> out;
  for (const Where& where : parts_.partitions) {
    if (out.empty() || out.back().size() == most) out.emplace_back();
    out.back().push_back(where);
  }
  return out;
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

void Producer::fill(Line& line) {
  // No new ones beside one that failed: the broker knows the last five only.
  if (!line.window.empty()) return;
  const std::size_t size = 1 + rng_.below(kInFlight);
  while (line.window.size() < size && line.next < records_) {
    const auto count = std::min<std::uint64_t>(1 + rng_.below(4), records_ - line.next);
    line.window.push_back({.first = line.next, .count = static_cast<std::int32_t>(count)});
    line.next += count;
  }
}

bool Producer::has_more(const std::vector<Line>& lines) const {
  return !std::ranges::all_of(
      lines, [this](const Line& line) { return line.next == records_ && line.window.empty(); });
}

// A window of batches of each partition is sent without waiting: the first ones in one request,
// then the second ones, and so on. What was not acknowledged is sent again, from the first on and
// in order, as clients do.
Task<void> Producer::run_connection(std::vector<Where> partitions) {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  std::vector<Line> lines;
  for (const Where& where : partitions) lines.push_back({.where = where, .window = {}});
  while (!group_.stopping() && has_more(lines)) {
    for (Line& line : lines) fill(line);
    TaskGroup sending;
    for (std::size_t i = 0; i < kInFlight; ++i) {
      std::vector<Sending> batches;
      for (Line& line : lines) {
        if (i < line.window.size()) batches.push_back({line.where, &line.window[i]});
      }
      if (!batches.empty()) sending.spawn(machine_.executor(), send(link, std::move(batches)));
    }
    co_await sending.join();
    bool failed = false;
    for (Line& line : lines) {
      std::erase_if(line.window, [](const Batch& batch) { return batch.acknowledged; });
      failed |= !line.window.empty();
    }
    if (failed) link.choose();
    co_await group_.sleep(machine_.clock(), milliseconds(failed ? 100 : rng_.below(1000)));
  }
  --running_;
}

// The same, but for what comes of it.
Task<void> Producer::run_silent_connection(std::vector<Where> partitions) {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  std::vector<Line> lines;
  for (const Where& where : partitions) lines.push_back({.where = where, .window = {}});
  TaskGroup sending;
  while (!group_.stopping() && has_more(lines)) {
    for (Line& line : lines) fill(line);
    for (std::size_t i = 0; i < kInFlight; ++i) {
      std::vector<Sending> batches;
      std::vector<Silent> silent;
      for (Line& line : lines) {
        if (i >= line.window.size()) continue;
        batches.push_back({line.where, &line.window[i]});
        silent.push_back(
            {.batch = {.where = line.where}, .first = value(line.where, line.window[i].first)});
      }
      if (batches.empty()) continue;
      sending.spawn(machine_.executor(),
                    send_silently(link, request_of(batches), std::move(silent)));
    }
    for (Line& line : lines) line.window.clear();
    co_await group_.sleep(machine_.clock(), milliseconds(rng_.below(1000)));
  }
  co_await sending.join();
  --running_;
}

Task<void> Producer::send_silently(Link& link, kafka::ProduceRequest request,
                                   std::vector<Silent> batches) {
  if (!link.connect()) {
    link.choose();
    co_return;
  }
  const std::uint64_t number = ++sent_;
  for (Silent& one : batches) {
    one.batch.connection = link.connection();
    one.batch.number = number;
    parts_.world.tell(to_string(one.batch.where),
                      [&] { return one.first + " is sent with acks=0"; });
    parts_.history.tell([&](Checker& checker) { checker.on_sent(one.batch, one.first); });
  }
  const BrokerId broker = link.broker();
  const auto answered = co_await link.send(request, 9);
  if (!answered || !*answered) co_return;
  parts_.history.tell([&](Checker& checker) { checker.on_unasked_answer(broker); });
}

Slice Producer::encode(const Where& where, const Batch& batch) const {
  kafka::RecordBatchBuilder builder({.compression = {.codec = codec_, .level = {}},
                                     .producer_id = id_,
                                     .producer_epoch = epoch_,
                                     .base_sequence = kind_ == ProducerKind::kIdempotent
                                                          ? static_cast<std::int32_t>(batch.first)
                                                          : -1,
                                     .log_append_time = {}});
  for (std::int32_t i = 0; i < batch.count; ++i) {
    const std::string text = value(where, batch.first + static_cast<std::uint64_t>(i));
    builder.append(machine_.clock().wall_ms(), std::nullopt, as_bytes(text));
  }
  return builder.build().value();
}

kafka::ProduceRequest Producer::request_of(const std::vector<Sending>& batches) const {
  kafka::ProduceRequest request;
  request.acks = acks_;
  request.timeout_ms = 30'000;
  for (const Sending& sending : batches) {
    const char* name = topic_name(sending.where.topic);
    if (request.topic_data.empty() || request.topic_data.back().name != name)
      request.topic_data.emplace_back().name = name;
    request.topic_data.back().partition_data.push_back(
        {.index = sending.where.partition, .records = encode(sending.where, *sending.batch)});
  }
  return request;
}

Task<void> Producer::send(Link& link, std::vector<Sending> batches) {
  const std::uint64_t number = ++sent_;
  for (const Sending& sending : batches) ++sending.batch->attempts;
  auto response = co_await link.call<kafka::ProduceResponse>(request_of(batches), 9);
  if (!response) {
    for (const Sending& sending : batches) fail_with(sending, response.error().to_string());
    co_return;
  }
  const MonoTime answered = link.answered();
  // What is not answered is sent again.
  for (const auto& topic : response->responses) {
    for (const auto& answer : topic.partition_responses) {
      const Where where{topic_number(topic.name), answer.index};
      const auto sending = std::ranges::find(batches, where, &Sending::where);
      if (sending == batches.end()) continue;
      see_answer(link.connection(), number, *sending, answer);
      if (!sending->batch->acknowledged) continue;
      const Offset end = answer.base_offset + sending->batch->count;
      parts_.history.tell([&](Checker& checker) { checker.on_end_told(where, answered, end); });
    }
  }
}

void Producer::see_answer(std::uint64_t connection, std::uint64_t number, const Sending& sending,
                          const kafka::ProduceResponse::PartitionResponse& answer) {
  if (answer.error_code != KafkaError::kNone) {
    fail_with(sending, fmt::format("{} {}", kafka::to_string(answer.error_code),
                                   answer.error_message.value_or("")));
    return;
  }
  sending.batch->acknowledged = true;
  acknowledge(sending.where, *sending.batch, answer.base_offset);
  // Only what went over one connection has an order that a plain producer can rely on.
  if (kind_ == ProducerKind::kIdempotent || sending.batch->attempts > 1) return;
  const SentBatch sent{.connection = connection,
                       .number = number,
                       .where = sending.where,
                       .base_offset = answer.base_offset};
  parts_.history.tell([&](Checker& checker) { checker.on_batch(sent); });
}

void Producer::fail_with(const Sending& sending, const std::string& error) {
  troubled_ = sending.where;
  trouble_ = fmt::format("{}: {}", value(sending.where, sending.batch->first), error);
  parts_.world.tell(to_string(sending.where), [&] { return trouble_; });
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

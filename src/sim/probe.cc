#include "sim/probe.h"

#include "kafka/protocol/messages/produce.h"
#include "kafka/records/batch_builder.h"

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Where kWhere{kOrders, 0};
constexpr std::string_view kValue = "p900-0-0-0";
// Less than a client's patience.
constexpr std::int32_t kWaitMs = 8000;
// Of the record, when its answer is an error.
constexpr int kTries = 5;

kafka::KafkaError error_of(const kafka::ProduceResponse& response) {
  return response.responses.at(0).partition_responses.at(0).error_code;
}

}  // namespace

Probe::Probe(ClientParts parts) : parts_(std::move(parts)), machine_(parts_.world.add_machine()) {}

void Probe::start() { tasks_.spawn(machine_.executor(), run()); }

void Probe::stop() {
  has_failed_ = true;
  tasks_.stop();
}

Task<void> Probe::run() {
  constexpr TimestampMs kLatest = -1;
  constexpr int kAttempts = 20;
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  std::optional<Offset> end;
  for (int i = 0; i < kAttempts && !end; ++i) {
    end = co_await list_offset(link, kWhere, kLatest);
    if (!end) link.choose();
    co_await tasks_.sleep(machine_.clock(), milliseconds(100));
  }
  if (!end) {
    parts_.history.tell(
        [](Checker& checker) { checker.on_stuck("orders/0", "ListOffsets has no answer"); });
    co_return;
  }
  for (SimNode* node : parts_.nodes) tasks_.spawn(machine_.executor(), wait_at(node->id(), *end));
  co_await tasks_.sleep(machine_.clock(), seconds(2));
  kafka::RecordBatchBuilder builder({.compression = {}, .log_append_time = {}});
  builder.append(machine_.clock().wall_ms(), std::nullopt, as_bytes(kValue));
  kafka::ProduceRequest request;
  request.acks = -1;
  request.timeout_ms = kWaitMs;
  auto& topic = request.topic_data.emplace_back();
  topic.name = topic_name(kWhere.topic);
  topic.partition_data.push_back({.index = kWhere.partition, .records = builder.build().value()});
  auto response = co_await link.call<kafka::ProduceResponse>(request, 9);
  // Where only a few commands may wait for the log, those of groups may have filled the line.
  for (int i = 1;
       i < kTries && response && error_of(*response) == kafka::KafkaError::kKafkaStorageError;
       ++i) {
    co_await tasks_.sleep(machine_.clock(), milliseconds(200));
    response = co_await link.call<kafka::ProduceResponse>(request, 9);
  }
  has_failed_ = !response || error_of(*response) != kafka::KafkaError::kNone;
  if (has_failed_) {
    parts_.history.tell([](Checker& checker) {
      checker.on_stuck("orders/0", "nothing can be produced after the faults");
    });
    co_return;
  }
  const auto& answer = response->responses.at(0).partition_responses.at(0);
  acknowledged_ = parts_.world.now();
  const Seen seen{.where = kWhere,
                  .offset = answer.base_offset,
                  .value = std::string(kValue),
                  .at = parts_.history.next_moment()};
  parts_.history.tell([&](Checker& checker) { checker.on_acknowledged(seen); });
}

Task<void> Probe::wait_at(BrokerId broker, Offset end) {
  Link link(parts_.world, machine_, parts_.weather, parts_.nodes);
  link.choose(broker);
  Reader reader(parts_);
  reader.seek(kWhere, end);
  while (reader.position(kWhere) == end) {
    if (has_failed_ || !co_await reader.fetch(link, {kWhere}, 4096, kWaitMs)) co_return;
  }
  const MonoTime got = parts_.world.now();
  while (!acknowledged_ && !has_failed_) co_await tasks_.sleep(machine_.clock(), milliseconds(10));
  if (has_failed_) co_return;
  const Duration delay = got - *acknowledged_;
  parts_.history.tell([&](Checker& checker) { checker.on_wake_up(broker, delay); });
}

}  // namespace weir::sim

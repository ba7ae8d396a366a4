#include "produce/write_pipeline.h"

#include "base/planted.h"
#include "kafka/error_map.h"
#include "kafka/records/record_batch.h"
#include "runtime/log.h"

#include <algorithm>

namespace weir::produce {
namespace {

using kafka::KafkaError;

// By then, a put that was given up has arrived or never will.
constexpr Duration kLateArrival = std::chrono::minutes(10);
// Objects that are looked after; what is beyond waits for the sweep of orphans.
constexpr std::size_t kMaxCleanups = 10'000;
// How long a batch waits for a broker that is fenced, and how often that is looked at.
constexpr Duration kRegistrationPatience = std::chrono::seconds(5);
constexpr Duration kRegistrationLook = std::chrono::milliseconds(20);

metadata::CommitObject command_for(const storage::WalIndex& index, metadata::ObjectId id,
                                   ByteCount size) {
  metadata::CommitObject command{
      .object = id, .object_size = static_cast<std::uint32_t>(size), .runs = {}, .batches = {}};
  command.runs.reserve(index.runs.size());
  for (const storage::WalRun& run : index.runs) {
    command.runs.push_back({.topic = run.partition.topic,
                            .partition = run.partition.partition,
                            .byte_offset = run.byte_offset,
                            .batch_count = run.batch_count});
  }
  command.batches.reserve(index.batches.size());
  for (const storage::WalBatchInfo& batch : index.batches) {
    metadata::ObjectBatch& out = command.batches.emplace_back(metadata::ObjectBatch{
        .length = batch.length,
        .last_offset_delta = batch.last_offset_delta,
        .max_timestamp = batch.max_timestamp,
        .log_append_time = (batch.attributes & kafka::kLogAppendTimeBit) != 0});
    // No idempotent producer: some clients leave zeros in the other fields.
    if (batch.producer_id < 0 || batch.producer_epoch < 0) continue;
    out.producer_id = batch.producer_id;
    out.producer_epoch = batch.producer_epoch;
    out.base_sequence = batch.base_sequence;
  }
  return command;
}

std::vector<TopicPartition> partitions_of(const storage::WalIndex& index) {
  std::vector<TopicPartition> out;
  out.reserve(index.runs.size());
  for (const storage::WalRun& run : index.runs) out.push_back(run.partition);
  return out;
}

SequencedBatch sequenced(const storage::WalRun& run, const storage::WalBatchInfo& batch) {
  return {.partition = run.partition,
          .producer_id = batch.producer_id,
          .producer_epoch = batch.producer_epoch,
          .base_sequence = batch.base_sequence};
}

SequencedBatch sequenced(const storage::WalBatch& batch) {
  const kafka::RecordBatchView view(batch.bytes.bytes());
  return {.partition = batch.partition,
          .producer_id = view.producer_id(),
          .producer_epoch = view.producer_epoch(),
          .base_sequence = view.base_sequence()};
}

}  // namespace

// One object on its way: its batches and who waits for them.
struct WritePipeline::Flight {
  struct Waiter {
    std::shared_ptr<PendingWrite> write;
    std::uint32_t index = 0;
  };

  CommitOrder::Ticket ticket = 0;
  metadata::ObjectId id;
  storage::ObjectKey key;
  storage::WalObject object;
  std::vector<Waiter> waiters;  // waiters[n] is for the object's batch order[n]

  void complete_all(const BatchOutcome& outcome) {
    for (Waiter& waiter : waiters) waiter.write->complete(waiter.index, outcome);
  }
};

std::int64_t draw_first_sequence(Rng& rng) {
  constexpr std::uint64_t kMany = 1ULL << 33;  // five bytes in an extent, ten digits in a key
  return static_cast<std::int64_t>(1 + rng.below(kMany));
}

WritePipeline::WritePipeline(PipelineParts parts, std::size_t lanes, FlushLimits limits)
    : parts_(parts),
      limits_(limits),
      policy_(limits),
      stage_(lanes, limits.buffer_max, [this] { wake(); }),
      objects_(
          parts.metrics.counter("weir_produce_objects_total", "WAL objects that were uploaded.")),
      bytes_in_(parts.metrics.counter("weir_produce_bytes_total",
                                      "Bytes of record batches that were committed.")),
      failed_(parts.metrics.counter("weir_produce_failed_objects_total",
                                    "WAL objects that were not uploaded or committed.")),
      object_size_(parts.metrics.histogram("weir_produce_object_bytes", "Size of WAL objects.",
                                           HistogramKind::kBytes)),
      stage_time_(parts.metrics.histogram("weir_produce_stage_seconds",
                                          "Time from staging a batch to the start of its upload.",
                                          HistogramKind::kLatency)),
      upload_time_(parts.metrics.histogram(
          "weir_produce_upload_seconds", "Time to upload a WAL object.", HistogramKind::kLatency)),
      commit_time_(parts.metrics.histogram("weir_produce_commit_seconds",
                                           "Time from the end of an upload to its commit.",
                                           HistogramKind::kLatency)) {}

WritePipeline::~WritePipeline() = default;

void WritePipeline::start() { tasks_.spawn(parts_.executor, run()); }

void WritePipeline::hurry() {
  is_hurrying_ = true;
  wake();
}

Task<void> WritePipeline::drain() {
  is_draining_ = true;
  hurry();
  co_await tasks_.join();
  cleanup_.stop();
  co_await cleanup_.join();
}

Task<void> WritePipeline::run() {
  while (true) {
    const bool is_held = awaits_registration();
    if (!is_held) flush_what_is_due();
    if (is_draining_ && stage_.bytes() == 0 && flights_.empty()) co_return;
    auto again =
        is_held ? parts_.clock.now() + kRegistrationLook : policy_.ask_again_at(situation());
    if (again) {
      co_await wake_.wait_until(parts_.clock, *again);
    } else {
      co_await wake_.wait();
    }
  }
}

// A broker that was fenced, most often since it had stood still, is registered anew within moments
// if the log answers. An error meanwhile would have its producers send again and again, and turn to
// the new leader with a batch on its way here: librdkafka may then send the next one before it.
bool WritePipeline::awaits_registration() const {
  if (is_draining_ || parts_.coordinator.broker_epoch() >= 0) return false;
  const auto oldest = stage_.oldest();
  const auto refused = parts_.coordinator.refusal();
  const bool is_fenced = !refused || refused->code == ErrorCode::kFenced;
  return oldest && is_fenced && parts_.clock.now() - *oldest < kRegistrationPatience;
}

FlushSituation WritePipeline::situation() const {
  auto oldest = stage_.oldest();
  return {.staged = oldest ? stage_.bytes() : 0,
          .oldest = oldest.value_or(MonoTime{}),
          .uploads = uploads_,
          .now = parts_.clock.now()};
}

void WritePipeline::flush_what_is_due() {
  while (true) {
    FlushSituation now = situation();
    bool must_flush = is_hurrying_ && now.staged > 0 && uploads_ < limits_.max_uploads;
    if (!must_flush && !policy_.should_flush(now)) return;
    stage_time_.observe(now.now - now.oldest);
    launch();
  }
}

void WritePipeline::launch() {
  std::vector<StagedBatch> staged = stage_.drain(limits_.buffer_max);
  if (staged.empty()) return;
  BrokerEpoch epoch = parts_.coordinator.broker_epoch();
  // What cannot be committed need not be uploaded.
  if (epoch < 0) return refuse(std::move(staged), ErrorCode::kFenced);
  if (auto refused = parts_.coordinator.refusal()) return refuse(std::move(staged), refused->code);
  refuse_what_must_wait(staged);
  if (staged.empty()) return;
  if (epoch != sequence_epoch_) {
    sequence_epoch_ = epoch;
    next_sequence_ = parts_.first_sequence;
  }
  auto flight = std::make_shared<Flight>();
  flight->id = {.epoch = epoch, .sequence = next_sequence_++};
  flight->key = storage::wal_object_key(epoch, flight->id.sequence);
  std::vector<storage::WalBatch> batches;
  batches.reserve(staged.size());
  for (StagedBatch& batch : staged) {
    batches.push_back(std::move(batch.batch));
    flight->waiters.push_back({.write = std::move(batch.write), .index = batch.index});
  }
  flight->object = storage::build_wal_object(
      {.cluster = parts_.cluster_id, .broker_epoch = epoch, .sequence = flight->id.sequence},
      batches);
  flight->ticket = order_.enter(partitions_of(flight->object.index));
  flights_.emplace(flight->ticket, flight);
  ++uploads_;
  tasks_.spawn(parts_.executor, upload(std::move(flight)));
}

Task<void> WritePipeline::upload(std::shared_ptr<Flight> flight) {
  MonoTime start = parts_.clock.now();
  object_size_.observe(flight->object.body.size());
  if (planted(Bug::kCommitBeforePut)) commit_ready(order_.uploaded(flight->ticket));
  Status put = co_await parts_.store.put(flight->key, flight->object.body);
  --uploads_;
  wake();
  if (planted(Bug::kCommitBeforePut)) co_return;
  if (!put) {
    remember_failed(flight->object.index);
    auto ready = order_.failed(flight->ticket);
    tasks_.spawn(parts_.executor, discard(flight, put.error(), Upload::kUnknown));
    commit_ready(ready);
    co_return;
  }
  objects_.add();
  upload_time_.observe(parts_.clock.now() - start);
  parts_.written.on_object_written(flight->key, flight->object.body);
  commit_ready(order_.uploaded(flight->ticket));
}

// In their order: the coordinator applies commits in the order in which they are submitted.
void WritePipeline::commit_ready(const std::vector<CommitOrder::Ticket>& ready) {
  for (CommitOrder::Ticket ticket : ready)
    tasks_.spawn(parts_.executor, commit(flights_.at(ticket)));
}

Task<void> WritePipeline::commit(std::shared_ptr<Flight> flight) {
  MonoTime start = parts_.clock.now();
  const storage::WalObject& object = flight->object;
  if (must_wait(object.index)) {
    remember_failed(object.index);
    Error error{ErrorCode::kUnavailable, "an object with earlier batches of a producer failed"};
    co_await discard(flight, std::move(error), Upload::kDone);
    co_return;
  }
  auto result =
      co_await parts_.coordinator.submit(command_for(object.index, flight->id, object.body.size()));
  if (!result || result->error != KafkaError::kNone) {
    Error error = result ? Error{ErrorCode::kFenced, "the commit was refused"} : result.error();
    remember_failed(object.index);
    co_await discard(flight, std::move(error), Upload::kDone);
    co_return;
  }
  commit_time_.observe(parts_.clock.now() - start);
  remember_judged(object.index);
  ByteCount committed = 0;
  for (std::size_t i = 0; i < result->batches.size(); ++i) {
    const metadata::BatchResult& batch = result->batches[i];
    Flight::Waiter& waiter = flight->waiters[object.order[i]];
    bool is_committed = batch.error == KafkaError::kNone;
    if (is_committed) committed += object.index.batches[i].length;
    waiter.write->complete(waiter.index,
                           {.error = batch.error,
                            .base_offset = is_committed ? batch.base_offset : kNoOffset,
                            .log_append_time_ms = is_committed ? batch.append_time : kNoTimestamp,
                            .log_start_offset = batch.log_start});
  }
  bytes_in_.add(committed);
  flights_.erase(flight->ticket);
  wake();
}

// The object will not be committed: tell the producers, and do not leave the object behind.
Task<void> WritePipeline::discard(std::shared_ptr<Flight> flight, Error error, Upload upload) {
  failed_.add();
  log::error("produce.object.failed", {{"object", flight->key}, {"error", error}});
  flight->complete_all({.error = planted(Bug::kAcknowledgedUncommitted)
                                     ? KafkaError::kNone
                                     : kafka::write_error(error.code)});
  // After kCancelled the commit may stand, and a broker that stops does not wait for a store that
  // did not take the object: it is then left to the sweep of orphans.
  const bool is_left =
      error.code == ErrorCode::kCancelled || (is_draining_ && upload != Upload::kDone);
  if (!is_left) co_await remove(flight->key, upload);
  flights_.erase(flight->ticket);
  wake();
}

void WritePipeline::refuse(std::vector<StagedBatch> staged, ErrorCode reason) {
  for (StagedBatch& batch : staged) {
    gate_.on_failed(sequenced(batch.batch), parts_.clock.now());
    batch.write->complete(batch.index, {.error = kafka::write_error(reason)});
  }
}

void WritePipeline::refuse_what_must_wait(std::vector<StagedBatch>& staged) {
  const MonoTime now = parts_.clock.now();
  if (gate_.is_open(now)) return;
  std::erase_if(staged, [&](StagedBatch& batch) {
    if (gate_.may_launch(sequenced(batch.batch), now)) return false;
    batch.write->complete(batch.index, {.error = kafka::write_error(ErrorCode::kUnavailable)});
    return true;
  });
}

void WritePipeline::remember_failed(const storage::WalIndex& index) {
  for (const storage::WalRun& run : index.runs) {
    for (const storage::WalBatchInfo& batch : index.batches_of(run))
      gate_.on_failed(sequenced(run, batch), parts_.clock.now());
  }
}

void WritePipeline::remember_judged(const storage::WalIndex& index) {
  if (gate_.is_open(parts_.clock.now())) return;
  for (const storage::WalRun& run : index.runs) {
    for (const storage::WalBatchInfo& batch : index.batches_of(run))
      gate_.on_judged(sequenced(run, batch));
  }
}

// An object that was launched before an earlier one failed.
bool WritePipeline::must_wait(const storage::WalIndex& index) {
  const MonoTime now = parts_.clock.now();
  if (gate_.is_open(now)) return false;
  return std::ranges::any_of(index.runs, [&](const storage::WalRun& run) {
    return !std::ranges::all_of(index.batches_of(run), [&](const storage::WalBatchInfo& batch) {
      return gate_.may_submit(sequenced(run, batch), now);
    });
  });
}

Task<void> WritePipeline::remove(storage::ObjectKey key, Upload upload) {
  std::vector<storage::ObjectKey> keys{key};
  Status removed = co_await parts_.store.remove(std::move(keys));
  if (!removed) log::warn("produce.object.left", {{"object", key}, {"error", removed.error()}});
  bool is_gone = removed && upload == Upload::kDone;
  if (!is_gone && cleanup_.running() < kMaxCleanups)
    cleanup_.spawn(parts_.executor, remove_again(std::move(key)));
}

// The first removal may have failed, or a put whose answer did not come may have arrived after it.
Task<void> WritePipeline::remove_again(storage::ObjectKey key) {
  if (!co_await cleanup_.sleep(parts_.clock, kLateArrival)) co_return;
  std::vector<storage::ObjectKey> keys{key};
  Status removed = co_await parts_.store.remove(std::move(keys));
  if (!removed) log::warn("produce.object.left", {{"object", key}, {"error", removed.error()}});
}

}  // namespace weir::produce

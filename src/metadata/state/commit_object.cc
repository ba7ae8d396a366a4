#include "metadata/state/commit_object.h"

#include "kafka/protocol/json_writer.h"

#include <fmt/format.h>

#include <limits>

namespace weir::metadata {
namespace {

// The low bits of a run's first number; the count of its batches stands above them.
constexpr std::uint32_t kNewTopic = 1;  // the topic's id follows
constexpr std::uint32_t kMoved =
    2;  // the run does not begin where the one before ends: its byte offset follows
constexpr std::uint32_t kCountShift = 2;
constexpr std::uint32_t kMaxBatches = std::numeric_limits<std::uint32_t>::max() >> kCountShift;

// The flags of a batch: one of these, and kLogAppendTime.
enum class Producer : std::uint8_t { kNone = 0, kSame = 1, kOther = 2 };
constexpr std::uint8_t kProducerMask = 3;
constexpr std::uint8_t kLogAppendTime = 4;

// What the numbers of the next run and batch are relative to.
struct Context {
  TopicId topic;
  PartitionIndex partition = -1;
  std::uint64_t byte_end = 0;
  TimestampMs timestamp = 0;
  ProducerId producer_id = 0;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
};

// Differences wrap, so that any two numbers have one.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

Producer producer_of(const ObjectBatch& batch, const Context& context) {
  if (batch.producer_id == kNoProducerId) return Producer::kNone;
  bool same =
      batch.producer_id == context.producer_id && batch.producer_epoch == context.producer_epoch;
  return same ? Producer::kSame : Producer::kOther;
}

void write_batch(ByteWriter& out, const ObjectBatch& batch, Context& context) {
  out.uvarint(batch.length);
  out.uvarint(static_cast<std::uint32_t>(batch.last_offset_delta));
  out.varlong(difference(batch.max_timestamp, context.timestamp));
  context.timestamp = batch.max_timestamp;
  context.byte_end += batch.length;
  Producer producer = producer_of(batch, context);
  out.u8(static_cast<std::uint8_t>(static_cast<std::uint8_t>(producer) |
                                   (batch.log_append_time ? kLogAppendTime : 0)));
  if (producer == Producer::kNone) return;
  if (producer == Producer::kOther) {
    out.varlong(difference(batch.producer_id, context.producer_id));
    out.uvarint(static_cast<std::uint16_t>(batch.producer_epoch));
    context.producer_id = batch.producer_id;
    context.producer_epoch = batch.producer_epoch;
  }
  out.uvarint(static_cast<std::uint32_t>(batch.base_sequence));
}

ObjectBatch read_batch(ByteReader& in, Context& context) {
  ObjectBatch batch;
  batch.length = in.uvarint();
  batch.last_offset_delta = static_cast<std::int32_t>(in.uvarint());
  batch.max_timestamp = context.timestamp = sum(context.timestamp, in.varlong());
  context.byte_end += batch.length;
  std::uint8_t flags = in.u8();
  batch.log_append_time = (flags & kLogAppendTime) != 0;
  auto producer = static_cast<Producer>(flags & kProducerMask);
  if ((flags & ~(kProducerMask | kLogAppendTime)) != 0 || producer > Producer::kOther)
    in.set_failed();
  if (producer == Producer::kNone) return batch;
  if (producer == Producer::kOther) {
    context.producer_id = sum(context.producer_id, in.varlong());
    context.producer_epoch = static_cast<ProducerEpoch>(in.uvarint());
  }
  batch.producer_id = context.producer_id;
  batch.producer_epoch = context.producer_epoch;
  batch.base_sequence = static_cast<std::int32_t>(in.uvarint());
  return batch;
}

void write_run(ByteWriter& out, const ObjectRun& run, Context& context) {
  bool new_topic = context.partition < 0 || run.topic != context.topic;
  bool moved = run.byte_offset != context.byte_end;
  out.uvarint((run.batch_count << kCountShift) | (new_topic ? kNewTopic : 0) |
              (moved ? kMoved : 0));
  if (new_topic) {
    out.uuid(run.topic);
    context.topic = run.topic;
    context.partition = 0;
  }
  out.varint(run.partition - context.partition);
  context.partition = run.partition;
  if (moved) out.uvarint(run.byte_offset);
  context.byte_end = run.byte_offset;
}

ObjectRun read_run(ByteReader& in, Context& context) {
  std::uint32_t head = in.uvarint();
  if ((head & kNewTopic) != 0) {
    context.topic = in.uuid();
    context.partition = 0;
  }
  ObjectRun run{.topic = context.topic, .batch_count = head >> kCountShift};
  run.partition = context.partition =
      static_cast<PartitionIndex>(sum(context.partition, in.varint()));
  run.byte_offset =
      (head & kMoved) != 0 ? in.uvarint() : static_cast<std::uint32_t>(context.byte_end);
  context.byte_end = run.byte_offset;
  return run;
}

Status check_batch(const ObjectBatch& batch, std::size_t index) {
  const char* wrong = nullptr;
  if (batch.length == 0) wrong = "length 0";
  if (batch.last_offset_delta < 0) wrong = "a negative last offset delta";
  if (batch.max_timestamp < kNoTimestamp) wrong = "a timestamp below -1";
  bool none = batch.producer_id == kNoProducerId && batch.producer_epoch == kNoProducerEpoch &&
              batch.base_sequence == -1;
  bool idempotent = batch.producer_id >= 0 && batch.producer_epoch >= 0 && batch.base_sequence >= 0;
  if (!none && !idempotent) wrong = "a producer id, epoch and sequence that do not belong together";
  if (wrong == nullptr) return {};
  return fail(ErrorCode::kInvalid, fmt::format("batch {} of the object has {}", index, wrong));
}

}  // namespace

Status check(const CommitObject& command) {
  if (command.object.epoch < 0 || command.object.sequence < 0 || command.runs.empty()) {
    return fail(ErrorCode::kInvalid,
                "an object needs an epoch and a sequence of 0 or more and at least one run");
  }
  std::size_t next = 0;
  for (const ObjectRun& run : command.runs) {
    if (run.batch_count == 0 || run.batch_count > kMaxBatches ||
        run.batch_count > command.batches.size() - next || run.partition < 0) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("a run of {} batches for partition {}: {} batches are left",
                              run.batch_count, run.partition, command.batches.size() - next));
    }
    std::uint64_t end = run.byte_offset;
    for (std::uint32_t i = 0; i < run.batch_count; ++i, ++next) {
      WEIR_CHECK(check_batch(command.batches[next], next));
      end += command.batches[next].length;
    }
    if (end > command.object_size) {
      return fail(ErrorCode::kInvalid, fmt::format("a run ends at byte {} of an object of {} bytes",
                                                   end, command.object_size));
    }
  }
  if (next == command.batches.size()) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("{} batches belong to no run", command.batches.size() - next));
}

void write(ByteWriter& out, const CommitObject& command) {
  out.uvarlong(static_cast<std::uint64_t>(command.object.epoch));
  out.uvarlong(static_cast<std::uint64_t>(command.object.sequence));
  out.uvarint(command.object_size);
  out.uvarint(static_cast<std::uint32_t>(command.runs.size()));
  Context context;
  std::size_t next = 0;
  for (const ObjectRun& run : command.runs) {
    write_run(out, run, context);
    for (std::uint32_t i = 0; i < run.batch_count; ++i)
      write_batch(out, command.batches[next++], context);
  }
}

Result<CommitObject> read_commit_object(ByteReader& in) {
  CommitObject command;
  command.object.epoch = static_cast<std::int64_t>(in.uvarlong());
  command.object.sequence = static_cast<std::int64_t>(in.uvarlong());
  command.object_size = in.uvarint();
  std::uint32_t runs = in.uvarint();
  constexpr std::size_t kLeastRun = 2;
  if (runs > in.remaining() / kLeastRun)
    return fail(ErrorCode::kCorrupt, "CommitObject: more runs than bytes");
  command.runs.reserve(runs);
  command.batches.reserve(runs);
  Context context;
  for (std::uint32_t i = 0; i < runs && in.ok(); ++i) {
    const ObjectRun& run = command.runs.emplace_back(read_run(in, context));
    for (std::uint32_t b = 0; b < run.batch_count && in.ok(); ++b) {
      command.batches.push_back(read_batch(in, context));
    }
  }
  if (!in.done())
    return fail(ErrorCode::kCorrupt, "CommitObject: too short, too long, or a number out of range");
  return command;
}

void write_json(kafka::JsonWriter& out, const CommitObject& command) {
  auto field = [&](const char* name, std::int64_t value) {
    out.key(name);
    out.number(value);
  };
  out.begin_object();
  field("object_epoch", command.object.epoch);
  field("object_sequence", command.object.sequence);
  field("object_size", command.object_size);
  out.key("runs");
  out.begin_array();
  std::size_t next = 0;
  for (const ObjectRun& run : command.runs) {
    out.begin_object();
    out.key("topic");
    out.uuid(run.topic);
    field("partition", run.partition);
    field("byte_offset", run.byte_offset);
    out.key("batches");
    out.begin_array();
    for (std::uint32_t i = 0; i < run.batch_count && next < command.batches.size(); ++i, ++next) {
      const ObjectBatch& batch = command.batches[next];
      out.begin_object();
      field("length", batch.length);
      field("last_offset_delta", batch.last_offset_delta);
      field("max_timestamp", batch.max_timestamp);
      field("producer_id", batch.producer_id);
      field("producer_epoch", batch.producer_epoch);
      field("base_sequence", batch.base_sequence);
      out.key("log_append_time");
      out.boolean(batch.log_append_time);
      out.end_object();
    }
    out.end_array();
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

}  // namespace weir::metadata

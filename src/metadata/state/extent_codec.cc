#include "metadata/state/extent_codec.h"

namespace weir::metadata {
namespace {

constexpr std::uint8_t kLogAppendTime = 1;

// Differences wrap, so that any two numbers have one.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
Offset end_of(const Extent& extent) {
  return sum(extent.base_offset, std::int64_t{extent.last_offset_delta} + 1);
}

}  // namespace

void ExtentEncoder::write(const Extent& extent) {
  out_.u8(extent.log_append_time ? kLogAppendTime : 0);
  out_.varlong(difference(extent.base_offset, end_of(before_)));
  out_.uvarint(extent.last_offset_delta);
  out_.varlong(difference(extent.object.epoch, before_.object.epoch));
  out_.varlong(difference(extent.object.sequence, before_.object.sequence));
  out_.uvarint(extent.object_size);
  out_.uvarint(extent.byte_offset);
  out_.uvarint(extent.byte_length);
  out_.varlong(difference(extent.append_time, before_.append_time));
  out_.varlong(difference(extent.max_timestamp, extent.append_time));
  out_.varint(extent.leader_epoch);
  before_ = extent;
}

Extent ExtentDecoder::read() {
  Extent extent;
  std::uint8_t flags = in_.u8();
  if (flags > kLogAppendTime) in_.set_failed();
  extent.log_append_time = flags == kLogAppendTime;
  extent.base_offset = sum(end_of(before_), in_.varlong());
  extent.last_offset_delta = in_.uvarint();
  extent.object.epoch = sum(before_.object.epoch, in_.varlong());
  extent.object.sequence = sum(before_.object.sequence, in_.varlong());
  extent.object_size = in_.uvarint();
  extent.byte_offset = in_.uvarint();
  extent.byte_length = in_.uvarint();
  extent.append_time = sum(before_.append_time, in_.varlong());
  extent.max_timestamp = sum(extent.append_time, in_.varlong());
  extent.leader_epoch = in_.varint();
  before_ = extent;
  return extent;
}

void write(ByteWriter& out, const ProducerState& producer) {
  out.i16(producer.epoch);
  out.varlong(producer.last_time);
  out.u8(static_cast<std::uint8_t>(producer.count));
  for (std::size_t i = 0; i < producer.count; ++i) {
    const ProducerBatch& batch = producer.batches[i];
    out.uvarint(static_cast<std::uint32_t>(batch.first_sequence));
    out.uvarint(static_cast<std::uint32_t>(batch.last_sequence));
    out.varlong(batch.base_offset);
    out.varlong(difference(batch.append_time, producer.last_time));
  }
}

ProducerState read_producer(ByteReader& in) {
  ProducerState producer;
  producer.epoch = in.i16();
  producer.last_time = in.varlong();
  producer.count = in.u8();
  if (producer.count > ProducerState::kBatches) {
    producer.count = 0;
    in.set_failed();
  }
  for (std::size_t i = 0; i < producer.count; ++i) {
    ProducerBatch& batch = producer.batches[i];
    batch.first_sequence = static_cast<std::int32_t>(in.uvarint());
    batch.last_sequence = static_cast<std::int32_t>(in.uvarint());
    batch.base_offset = in.varlong();
    batch.append_time = sum(producer.last_time, in.varlong());
  }
  return producer;
}

void write(ByteWriter& out, const ObjectState& object) {
  out.uvarint(object.size);
  out.uvarint(object.live_extents);
  out.varlong(object.deletable_since);
}

ObjectState read_object(ByteReader& in) {
  ObjectState object;
  object.size = in.uvarint();
  object.live_extents = in.uvarint();
  object.deletable_since = in.varlong();
  return object;
}

}  // namespace weir::metadata

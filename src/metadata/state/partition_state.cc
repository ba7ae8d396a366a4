#include "metadata/state/partition_state.h"

#include "base/planted.h"
#include "metadata/state/item_hash.h"

#include <algorithm>
#include <vector>

namespace weir::metadata {
namespace {

std::uint64_t owner_hash(const TopicPartition& name) {
  return ItemWriter()
      .number(static_cast<std::int64_t>(name.topic.high))
      .number(static_cast<std::int64_t>(name.topic.low))
      .number(name.partition)
      .hash(ItemKind::kPartition);
}

struct ProducerItem {
  ProducerId id;
  ProducerState state;
};
static_assert(std::has_unique_object_representations_v<ProducerItem>);

std::uint64_t producer_hash(std::uint64_t owner, ProducerId id, const ProducerState& state) {
  return item_hash(ItemKind::kProducer, owner, ProducerItem{id, state});
}

}  // namespace

PartitionState::PartitionState(const TopicPartition& name)
    : owner_(owner_hash(name)), cell_(std::make_shared<PartitionCell>()) {}

std::uint64_t PartitionState::hash() const {
  struct Bounds {
    Offset log_start;
    Offset high_watermark;
    std::uint64_t first_ordinal;
  } bounds{log_start_, high_watermark_, extents_.view().first_ordinal()};
  return items_hash_ + item_hash(ItemKind::kPartition, owner_, bounds);
}

void PartitionState::append(const Extent& extent) {
  add_extent(extent);
  high_watermark_ = extent.last_offset() + (planted(Bug::kOffsetGivenTwice) ? 0 : 1);
}

void PartitionState::add_extent(const Extent& extent) {
  extents_.append(extent);
  live_bytes_ += extent.byte_length;
  items_hash_ += item_hash(ItemKind::kExtent, owner_, extent);
}

SequenceCheck PartitionState::sequence(const ObjectBatch& batch, Offset base_offset,
                                       TimestampMs append_time, TimestampMs now) {
  const ProducerState* known = producers_.find(batch.producer_id);
  SequenceCheck check = check_sequence(known, batch);
  if (check.error != kafka::KafkaError::kNone || check.duplicate != nullptr) return check;
  if (known != nullptr) items_hash_ -= producer_hash(owner_, batch.producer_id, *known);
  ProducerState& producer = producers_.at_for_write(batch.producer_id);
  remember_batch(producer, batch, base_offset, append_time, now);
  items_hash_ += producer_hash(owner_, batch.producer_id, producer);
  return check;
}

void PartitionState::trim(Offset log_start, ObjectTable& objects, Position at) {
  if (planted(Bug::kTrimsTooMuch)) ++log_start;
  log_start = std::min(log_start, high_watermark_);
  if (log_start <= log_start_ && !planted(Bug::kLogStartMovesBack)) return;
  log_start_ = log_start;
  const ExtentsView& view = extents_.view();
  std::size_t dead = view.find(log_start);
  for (std::size_t i = 0; i < dead; ++i) {
    const Extent& extent = view[i];
    live_bytes_ -= extent.byte_length;
    items_hash_ -= item_hash(ItemKind::kExtent, owner_, extent);
    objects.release(extent.object, at);
  }
  extents_.drop_front(dead);
}

bool PartitionState::expire_producers(TimestampMs last_time_until) {
  std::vector<ProducerId> expired;
  producers_.for_each([&](ProducerId id, const ProducerState& producer) {
    if (producer.last_time > last_time_until) return;
    expired.push_back(id);
    items_hash_ -= producer_hash(owner_, id, producer);
  });
  for (ProducerId id : expired) producers_.erase(id);
  return !expired.empty();
}

void PartitionState::remove(ObjectTable& objects, Position at) {
  deleted_ = true;
  if (planted(Bug::kObjectsOfDeletedTopicsStay)) return;
  const ExtentsView& view = extents_.view();
  for (std::size_t i = 0; i < view.size(); ++i) objects.release(view[i].object, at);
}

void PartitionState::restore(std::uint64_t first_ordinal, Offset log_start, Offset high_watermark) {
  extents_ = ExtentList(first_ordinal);
  log_start_ = log_start;
  high_watermark_ = high_watermark;
}

void PartitionState::restore_extent(const Extent& extent) { add_extent(extent); }

void PartitionState::restore_producer(ProducerId id, const ProducerState& producer) {
  producers_.at_for_write(id) = producer;
  items_hash_ += producer_hash(owner_, id, producer);
}

PartitionView PartitionState::view() const {
  return {.log_start = log_start_,
          .high_watermark = high_watermark_,
          .live_bytes = live_bytes_,
          .deleted = deleted_,
          .extents = extents_.view()};
}

void PartitionState::publish() {
  dirty_ = false;
  cell_->publish(view());
}

}  // namespace weir::metadata

#include "metadata/state/packed_extents.h"

#include <algorithm>
#include <limits>

namespace weir::metadata {
namespace {

constexpr std::uint32_t kMaxRecords = (1U << 24) - 1;

// How far `value` lies above `least`; the differences of all numbers fit.
std::uint64_t above(std::int64_t value, std::int64_t least) {
  return static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(least);
}

}  // namespace

std::shared_ptr<const PackedExtents> PackedExtents::pack(std::span<const Extent> extents) {
  auto packed = std::make_shared<PackedExtents>();
  packed->find_bounds(extents);
  packed->items_.reserve(extents.size());
  for (const Extent& extent : extents) {
    if (!packed->add(extent)) return nullptr;
  }
  packed->sources_.shrink_to_fit();
  return packed;
}

void PackedExtents::find_bounds(std::span<const Extent> extents) {
  base_offset_ = extents.front().base_offset;
  append_time_ = extents.front().append_time;
  max_timestamp_ = extents.front().max_timestamp;
  for (const Extent& extent : extents) {
    append_time_ = std::min(append_time_, extent.append_time);
    max_timestamp_ = std::min(max_timestamp_, extent.max_timestamp);
    Source& source = sources_[source_of(extent)];
    source.sequence = std::min(source.sequence, extent.object.sequence);
  }
}

std::size_t PackedExtents::source_of(const Extent& extent) {
  // There are few, and mostly it is the last one.
  for (std::size_t i = sources_.size(); i-- > 0;) {
    const Source& source = sources_[i];
    if (source.epoch == extent.object.epoch && source.leader_epoch == extent.leader_epoch &&
        source.log_append_time == extent.log_append_time) {
      return i;
    }
  }
  sources_.push_back(
      {extent.object.epoch, extent.object.sequence, extent.leader_epoch, extent.log_append_time});
  return sources_.size() - 1;
}

bool PackedExtents::add(const Extent& extent) {
  std::size_t source = source_of(extent);
  std::uint64_t offset = above(extent.base_offset, base_offset_);
  std::uint64_t append_time = above(extent.append_time, append_time_);
  std::uint64_t max_timestamp = above(extent.max_timestamp, max_timestamp_);
  std::uint64_t sequence = above(extent.object.sequence, sources_[source].sequence);
  bool fits = std::max({offset, append_time, max_timestamp, sequence}) <=
                  std::numeric_limits<std::uint32_t>::max() &&
              extent.last_offset_delta <= kMaxRecords;
  if (!fits) return false;
  items_.push_back({.base_offset = static_cast<std::uint32_t>(offset),
                    .append_time = static_cast<std::uint32_t>(append_time),
                    .max_timestamp = static_cast<std::uint32_t>(max_timestamp),
                    .sequence = static_cast<std::uint32_t>(sequence),
                    .byte_offset = extent.byte_offset,
                    .byte_length = extent.byte_length,
                    .object_size = extent.object_size,
                    .last_offset_delta = extent.last_offset_delta & kMaxRecords,
                    .source = static_cast<std::uint8_t>(source)});
  return true;
}

Extent PackedExtents::operator[](std::size_t i) const {
  const Item& item = items_[i];
  const Source& source = sources_[item.source];
  return {.base_offset = base_offset_ + item.base_offset,
          .object = {source.epoch, source.sequence + item.sequence},
          .max_timestamp = max_timestamp_ + item.max_timestamp,
          .append_time = append_time_ + item.append_time,
          .last_offset_delta = item.last_offset_delta,
          .byte_offset = item.byte_offset,
          .byte_length = item.byte_length,
          .object_size = item.object_size,
          .leader_epoch = source.leader_epoch,
          .log_append_time = source.log_append_time};
}

}  // namespace weir::metadata

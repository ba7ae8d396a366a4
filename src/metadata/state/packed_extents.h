// A block of extents that is full, in half the memory: 32 bytes for each, and once what they share.
// Immutable; any thread.
#pragma once
#include "metadata/state/extent.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weir::metadata {

class PackedExtents {
 public:
  static constexpr std::size_t kMax = 256;

  // Up to kMax extents in the order of their offsets. Null where they lie too far apart: in offsets
  // or times of 32 bits, or with 16 million records in one.
  [[nodiscard]] static std::shared_ptr<const PackedExtents> pack(std::span<const Extent> extents);

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] Extent operator[](std::size_t i) const;

 private:
  // What extents of one broker's objects share.
  struct Source {
    BrokerEpoch epoch;
    std::int64_t sequence;  // the smallest
    LeaderEpoch leader_epoch;
    bool log_append_time;
  };
  // Offset, times and sequence count from the smallest of the block.
  struct Item {
    std::uint32_t base_offset;
    std::uint32_t append_time;
    std::uint32_t max_timestamp;
    std::uint32_t sequence;
    std::uint32_t byte_offset;
    std::uint32_t byte_length;
    std::uint32_t object_size;
    std::uint32_t last_offset_delta : 24;
    std::uint32_t source : 8;
  };
  static_assert(sizeof(Item) == 32);

  void find_bounds(std::span<const Extent> extents);
  // The number of the extent's source.
  std::size_t source_of(const Extent& extent);
  [[nodiscard]] bool add(const Extent& extent);

  Offset base_offset_ = 0;
  TimestampMs append_time_ = 0;
  TimestampMs max_timestamp_ = 0;
  std::vector<Source> sources_;
  std::vector<Item> items_;
};

}  // namespace weir::metadata

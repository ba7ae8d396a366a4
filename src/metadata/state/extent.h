// An extent: one run of a partition's batches inside one object, and the name of that object. Plain
// values.
#pragma once
#include "base/ids.h"
#include "base/units.h"

#include <compare>
#include <cstdint>
#include <type_traits>

namespace weir::metadata {

// Names an object of the store: the epoch of the broker that wrote it and that broker's counter.
struct ObjectId {
  BrokerEpoch epoch = -1;
  std::int64_t sequence = 0;
  auto operator<=>(const ObjectId&) const = default;
};

// Offsets of extents grow and never overlap; there may be holes between them (and, later, within
// them).
struct Extent {
  Offset base_offset = 0;
  ObjectId object;
  TimestampMs max_timestamp =
      kNoTimestamp;  // of its records; the append time where that is what records get
  TimestampMs append_time = kNoTimestamp;  // when the commit was made
  std::uint32_t last_offset_delta = 0;
  std::uint32_t byte_offset = 0;  // of the first batch in the object
  std::uint32_t byte_length = 0;
  std::uint32_t object_size = 0;  // for whoever wants all of the object
  LeaderEpoch leader_epoch = 0;
  bool log_append_time = false;  // records get append_time as their timestamp when they are read
  std::uint8_t unused[3] = {};   // no padding: the bytes are hashed

  [[nodiscard]] Offset last_offset() const { return base_offset + last_offset_delta; }
  bool operator==(const Extent&) const = default;
};
static_assert(sizeof(Extent) == 64 && std::has_unique_object_representations_v<Extent>);

}  // namespace weir::metadata

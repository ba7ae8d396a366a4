// What readers see of a partition, and the place where it is published. The coordinator's thread
// updates a cell; any thread takes a view, an immutable value. The lock is the cell's own and is
// held for a few instructions.
#pragma once
#include "base/ids.h"
#include "base/units.h"
#include "metadata/state/extent_list.h"

#include <cstdint>
#include <mutex>

namespace weir::metadata {

struct PartitionView {
  Offset log_start = 0;
  Offset high_watermark = 0;  // the offset of the next record
  LeaderEpoch leader_epoch = 0;
  ByteCount live_bytes = 0;  // of the extents, whole
  bool deleted = false;      // its topic is gone; the rest is as it was last
  ExtentsView extents;
};

class PartitionCell {
 public:
  PartitionCell() = default;
  PartitionCell(const PartitionCell&) = delete;
  PartitionCell& operator=(const PartitionCell&) = delete;

  [[nodiscard]] PartitionView view() const {
    std::lock_guard lock(mutex_);
    return view_;
  }
  // Cheaper than view() for those who wait for records.
  [[nodiscard]] Offset high_watermark() const {
    std::lock_guard lock(mutex_);
    return view_.high_watermark;
  }
  void publish(PartitionView view) {
    // Swapped, so that what the old view was the last to hold is freed outside the lock.
    std::lock_guard lock(mutex_);
    std::swap(view_, view);
  }

 private:
  mutable std::mutex mutex_;
  PartitionView view_;
};

}  // namespace weir::metadata

// A partition in the state: what only the coordinator's thread sees beside the view that it
// publishes.
#pragma once
#include "base/ids.h"
#include "metadata/log/metadata_log.h"
#include "metadata/state/extent_list.h"
#include "metadata/state/object_table.h"
#include "metadata/state/partition_cell.h"
#include "metadata/state/producer_table.h"

#include <cstdint>
#include <memory>

namespace weir::metadata {

class PartitionState {
 public:
  explicit PartitionState(const TopicPartition& name);

  [[nodiscard]] Offset log_start() const { return log_start_; }
  [[nodiscard]] Offset high_watermark() const { return high_watermark_; }
  [[nodiscard]] ByteCount live_bytes() const { return live_bytes_; }
  [[nodiscard]] const ExtentsView& extents() const { return extents_.view(); }
  [[nodiscard]] const ProducerTable& producers() const { return producers_; }
  [[nodiscard]] const std::shared_ptr<PartitionCell>& cell() const { return cell_; }
  // Of the partition's name, and of all its content with the name.
  [[nodiscard]] std::uint64_t name_hash() const { return owner_; }
  [[nodiscard]] std::uint64_t hash() const;

  // Adds an extent at the high watermark, which moves behind it.
  void append(const Extent& extent);
  // Judges `batch` and, when it is next, remembers that it stands at `base_offset`. Not for batches
  // without producer.
  SequenceCheck sequence(const ObjectBatch& batch, Offset base_offset, TimestampMs append_time,
                         TimestampMs now);
  // Moves the log start forward to at most the high watermark; objects of dropped extents are
  // released.
  void trim(Offset log_start, ObjectTable& objects, Position at);
  // True: some were there.
  bool expire_producers(TimestampMs last_time_until);
  // Releases all objects; the view says that the partition is deleted.
  void remove(ObjectTable& objects, Position at);

  // From a snapshot, before anything else: where the log starts and ends, and the ordinal of its
  // first extent.
  void restore(std::uint64_t first_ordinal, Offset log_start, Offset high_watermark);
  void restore_extent(const Extent& extent);
  void restore_producer(ProducerId id, const ProducerState& producer);

  // Makes the current state visible to readers.
  void publish();
  [[nodiscard]] PartitionView view() const;

  // The position of the last entry that changed anything (not part of the state: only this process
  // knows it).
  void touch(Position position) { changed_ = position; }
  [[nodiscard]] Position changed() const { return changed_; }
  // True once between two publish(): collects what changed.
  bool mark_dirty() { return !std::exchange(dirty_, true); }

 private:
  void add_extent(const Extent& extent);

  std::uint64_t owner_;  // a hash of the partition's name, for the hashes of its items
  Offset log_start_ = 0;
  Offset high_watermark_ = 0;
  ByteCount live_bytes_ = 0;
  std::uint64_t items_hash_ = 0;
  ExtentList extents_;
  ProducerTable producers_;
  std::shared_ptr<PartitionCell> cell_;
  Position changed_ = 0;
  bool deleted_ = false;
  bool dirty_ = false;
};

}  // namespace weir::metadata

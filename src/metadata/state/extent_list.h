// The extents of a partition. ExtentList belongs to the coordinator's thread, which appends at the
// end and drops from the front; an ExtentsView is an immutable picture of it for any thread, as
// cheap to copy as a shared_ptr.
//
// Extents lie in blocks. The last block is written up to its capacity; a view knows how many of its
// extents it may read, so appending does not disturb it. A block that is full is packed, together
// with the one before while that is small. The list of blocks is copied when a block is added or
// dropped.
#pragma once
#include "metadata/state/extent.h"
#include "metadata/state/packed_extents.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weir::metadata {

// Where the blocks of a partition lie. Immutable: a new one takes its place when a block is added
// or dropped.
struct ExtentIndex {
  struct Entry {
    std::uint64_t ordinal;  // of the block's first extent; the partition's first extent ever had 0
    Offset base_offset;     // of the block's first extent
    TimestampMs max_timestamp;  // of all its extents; set when the next block is added
    // One of them.
    std::shared_ptr<const PackedExtents> packed;
    std::shared_ptr<const Extent[]> plain;

    [[nodiscard]] Extent at(std::uint64_t extent_ordinal) const {
      auto i = static_cast<std::size_t>(extent_ordinal - ordinal);
      return packed != nullptr ? (*packed)[i] : plain[static_cast<std::ptrdiff_t>(i)];
    }
  };
  std::vector<Entry> entries;
};

class ExtentsView {
 public:
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  // The extents in order of their offsets; 0 is the oldest that is left.
  [[nodiscard]] Extent operator[](std::size_t i) const;
  [[nodiscard]] Extent front() const { return (*this)[0]; }
  [[nodiscard]] Extent back() const { return (*this)[size() - 1]; }

  // The first extent that ends at or after `offset`; size() if there is none.
  [[nodiscard]] std::size_t find(Offset offset) const;
  // The first extent from `from` on with max_timestamp >= `timestamp`; size() if there is none.
  // Skips blocks.
  [[nodiscard]] std::size_t find_timestamp(TimestampMs timestamp, std::size_t from = 0) const;
  // The first extent with the greatest max_timestamp; size() when empty.
  [[nodiscard]] std::size_t find_max_timestamp() const;

  // The number of extents that were dropped from the front since the partition began: the ordinal
  // of (*this)[0].
  [[nodiscard]] std::uint64_t first_ordinal() const { return begin_; }

 private:
  friend class ExtentList;
  // The entry of the index that holds the extent with this ordinal.
  [[nodiscard]] std::size_t entry_of(std::uint64_t ordinal) const;
  // The ordinal after the last of an entry's extents that this view may read.
  [[nodiscard]] std::uint64_t entry_end(std::size_t entry) const;
  [[nodiscard]] bool is_last(std::size_t entry) const;

  std::shared_ptr<const ExtentIndex> index_;
  std::uint64_t begin_ = 0;  // ordinals
  std::uint64_t end_ = 0;
};

class ExtentList {
 public:
  ExtentList() = default;
  // An empty list whose next extent has this ordinal.
  explicit ExtentList(std::uint64_t first_ordinal);

  [[nodiscard]] const ExtentsView& view() const { return view_; }
  // Its offsets must lie above those of all extents before it.
  void append(const Extent& extent);
  // Drops the `count` oldest.
  void drop_front(std::size_t count);

 private:
  void add_block(Offset base_offset);

  ExtentsView view_;
  // The block that grows: its extents, the ordinal of the first, and the ordinal at which it is
  // full.
  Extent* tail_ = nullptr;
  std::uint64_t tail_begin_ = 0;
  std::uint64_t tail_limit_ = 0;
};

}  // namespace weir::metadata

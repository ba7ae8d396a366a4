#include "metadata/state/extent_list.h"

#include <algorithm>
#include <ranges>
#include <span>

namespace weir::metadata {
namespace {

// The block that grows has room for a quarter of the extents, within these bounds: it takes twice
// the memory of packed ones.
constexpr std::uint64_t kMinBlock = 8;
constexpr std::uint64_t kMaxBlock = PackedExtents::kMax;

using Entries = std::vector<ExtentIndex::Entry>;

// Packs the last block, whose extents are `full`.
void pack_last(Entries& entries, std::span<const Extent> full) {
  ExtentIndex::Entry& last = entries.back();
  last.max_timestamp = std::ranges::max(full, {}, &Extent::max_timestamp).max_timestamp;
  ExtentIndex::Entry* before = entries.size() > 1 ? &entries[entries.size() - 2] : nullptr;
  bool joins = before != nullptr && before->packed != nullptr &&
               before->packed->size() + full.size() <= kMaxBlock;
  if (joins) {
    std::vector<Extent> all;
    all.reserve(before->packed->size() + full.size());
    for (std::size_t i = 0; i < before->packed->size(); ++i) all.push_back((*before->packed)[i]);
    all.insert(all.end(), full.begin(), full.end());
    if (auto packed = PackedExtents::pack(all)) {
      before->packed = std::move(packed);
      before->max_timestamp = std::max(before->max_timestamp, last.max_timestamp);
      entries.pop_back();
      return;
    }
  }
  if (auto packed = PackedExtents::pack(full)) {
    last.packed = std::move(packed);
    last.plain = nullptr;
  }
}

}  // namespace

std::size_t ExtentsView::entry_of(std::uint64_t ordinal) const {
  const auto& entries = index_->entries;
  auto above = std::upper_bound(
      entries.begin(), entries.end(), ordinal,
      [](std::uint64_t value, const ExtentIndex::Entry& entry) { return value < entry.ordinal; });
  return static_cast<std::size_t>(above - entries.begin()) - 1;
}

bool ExtentsView::is_last(std::size_t entry) const { return entry + 1 == index_->entries.size(); }

std::uint64_t ExtentsView::entry_end(std::size_t entry) const {
  return is_last(entry) ? end_ : index_->entries[entry + 1].ordinal;
}

Extent ExtentsView::operator[](std::size_t i) const {
  return index_->entries[entry_of(begin_ + i)].at(begin_ + i);
}

std::size_t ExtentsView::find(Offset offset) const {
  if (empty()) return 0;
  const auto& entries = index_->entries;
  // The last block that begins at or before the offset; the extent is there, or is the first of the
  // next block.
  auto above = std::upper_bound(
      entries.begin(), entries.end(), offset,
      [](Offset value, const ExtentIndex::Entry& entry) { return value < entry.base_offset; });
  if (above == entries.begin()) return 0;
  auto at = static_cast<std::size_t>(above - entries.begin()) - 1;
  auto ordinals = std::views::iota(std::max(begin_, entries[at].ordinal), entry_end(at));
  auto found = std::ranges::partition_point(ordinals, [&](std::uint64_t ordinal) {
    return entries[at].at(ordinal).last_offset() < offset;
  });
  std::uint64_t ordinal = found == ordinals.end() ? entry_end(at) : *found;
  return static_cast<std::size_t>(ordinal - begin_);
}

std::size_t ExtentsView::find_timestamp(TimestampMs timestamp, std::size_t from) const {
  if (from >= size()) return size();
  const auto& entries = index_->entries;
  std::uint64_t ordinal = begin_ + from;
  for (std::size_t at = entry_of(ordinal); at < entries.size(); ++at) {
    // The greatest timestamp of the last block is not known.
    if (!is_last(at) && entries[at].max_timestamp < timestamp) continue;
    for (ordinal = std::max(ordinal, entries[at].ordinal); ordinal < entry_end(at); ++ordinal) {
      if (entries[at].at(ordinal).max_timestamp >= timestamp)
        return static_cast<std::size_t>(ordinal - begin_);
    }
  }
  return size();
}

std::size_t ExtentsView::find_max_timestamp() const {
  if (empty()) return 0;
  const auto& entries = index_->entries;
  TimestampMs greatest = front().max_timestamp;
  for (std::size_t at = entry_of(begin_); at < entries.size(); ++at) {
    if (!is_last(at) && entries[at].ordinal >= begin_) {
      greatest = std::max(greatest, entries[at].max_timestamp);
      continue;
    }
    for (std::uint64_t o = std::max(begin_, entries[at].ordinal); o < entry_end(at); ++o) {
      greatest = std::max(greatest, entries[at].at(o).max_timestamp);
    }
  }
  return find_timestamp(greatest);
}

ExtentList::ExtentList(std::uint64_t first_ordinal)
    : tail_begin_(first_ordinal), tail_limit_(first_ordinal) {
  view_.begin_ = first_ordinal;
  view_.end_ = first_ordinal;
}

void ExtentList::append(const Extent& extent) {
  if (view_.end_ == tail_limit_) add_block(extent.base_offset);
  tail_[view_.end_ - tail_begin_] = extent;
  ++view_.end_;
}

void ExtentList::add_block(Offset base_offset) {
  auto index = std::make_shared<ExtentIndex>();
  if (view_.index_ != nullptr) {
    index->entries.reserve(view_.index_->entries.size() + 1);
    index->entries = view_.index_->entries;
    pack_last(index->entries, {tail_, tail_limit_ - tail_begin_});
  }
  std::uint64_t capacity = std::clamp<std::uint64_t>(view_.size() / 4, kMinBlock, kMaxBlock);
  auto block = std::make_shared<Extent[]>(capacity);
  tail_ = block.get();
  tail_begin_ = view_.end_;
  tail_limit_ = view_.end_ + capacity;
  index->entries.push_back({tail_begin_, base_offset, kNoTimestamp, nullptr, std::move(block)});
  view_.index_ = std::move(index);
}

void ExtentList::drop_front(std::size_t count) {
  if (count == 0) return;
  view_.begin_ += count;
  if (view_.empty()) {
    *this = ExtentList(view_.end_);
    return;
  }
  std::size_t dead = view_.entry_of(view_.begin_);
  if (dead == 0) return;
  auto index = std::make_shared<ExtentIndex>();
  const auto& entries = view_.index_->entries;
  index->entries.assign(entries.begin() + static_cast<std::ptrdiff_t>(dead), entries.end());
  view_.index_ = std::move(index);
}

}  // namespace weir::metadata

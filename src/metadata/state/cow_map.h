// CowMap: an ordered map whose copy costs one reference count. Items lie sorted in blocks; a copy
// and its original share the blocks until one of them changes an item, and then only that block
// (and the list of blocks) is copied. Iteration is in the order of the keys, so it is the same on
// every broker. Different copies may be used by different threads.
#pragma once
#include "metadata/state/cow.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace weir::metadata {

template <typename Key, typename Value, std::size_t kBlockItems = 64>
class CowMap {
 public:
  using Item = std::pair<Key, Value>;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Same content for certain: neither was changed since one was copied from the other.
  [[nodiscard]] bool same_as(const CowMap& other) const { return blocks_.same_as(other.blocks_); }

  // `key` is anything that compares with Key. Valid until the next change.
  template <typename K>
  [[nodiscard]] const Value* find(const K& key) const {
    if (size_ == 0) return nullptr;
    const Block& block = *(*blocks_)[block_of(key)];
    auto at = lower_bound(block, key);
    return at != block.end() && !(key < at->first) ? &at->second : nullptr;
  }

  // For changing the value in place; null when there is none.
  template <typename K>
  [[nodiscard]] Value* find_for_write(const K& key) {
    if (find(key) == nullptr) return nullptr;
    Block& block = blocks_.write()[block_of(key)].write();
    return &lower_bound(block, key)->second;
  }

  // The value of `key`, a fresh one if there was none.
  Value& at_for_write(const Key& key) {
    if (size_ == 0) blocks_ = CowPtr<Blocks>::make(1, CowPtr<Block>::make());
    Blocks& blocks = blocks_.write();
    std::size_t index = block_of(key);
    Block* block = &blocks[index].write();
    auto at = lower_bound(*block, key);
    if (at != block->end() && !(key < at->first)) return at->second;
    ++size_;
    if (block->size() < kBlockItems) return block->insert(at, Item(key, Value()))->second;
    // A full block: keys that only grow fill their blocks, others split in halves.
    bool at_end = at == block->end();
    auto next = CowPtr<Block>::make();
    Block& right = next.write();
    if (!at_end || index + 1 != blocks.size()) {
      auto middle = block->begin() + kBlockItems / 2;
      right.assign(std::make_move_iterator(middle), std::make_move_iterator(block->end()));
      block->erase(middle, block->end());
      if (key < right.front().first) {
        Value& value = block->insert(lower_bound(*block, key), Item(key, Value()))->second;
        blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(next));
        return value;
      }
    }
    Value& value = right.insert(lower_bound(right, key), Item(key, Value()))->second;
    blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(next));
    return value;
  }

  template <typename K>
  bool erase(const K& key) {
    if (find(key) == nullptr) return false;
    Blocks& blocks = blocks_.write();
    std::size_t index = block_of(key);
    Block& block = blocks[index].write();
    block.erase(lower_bound(block, key));
    --size_;
    if (block.empty()) {
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(index));
    } else if (index > 0 && blocks[index - 1]->size() + block.size() <= kBlockItems / 2) {
      Block& left = blocks[index - 1].write();
      left.insert(left.end(), std::make_move_iterator(block.begin()),
                  std::make_move_iterator(block.end()));
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(index));
    }
    return true;
  }

  // Calls f(key, value) in order of the keys.
  template <typename F>
  void for_each(F f) const {
    if (size_ == 0) return;
    for (const CowPtr<Block>& block : *blocks_) {
      for (const Item& item : *block) f(item.first, item.second);
    }
  }

  // Calls f(key, value) for keys from `first` on, in order, until it returns false.
  template <typename K, typename F>
  void for_each_from(const K& first, F f) const {
    if (size_ == 0) return;
    for (std::size_t index = block_of(first); index < blocks_->size(); ++index) {
      const Block& block = *(*blocks_)[index];
      for (auto at = lower_bound(block, first); at != block.end(); ++at) {
        if (!f(at->first, at->second)) return;
      }
    }
  }

 private:
  using Block = std::vector<Item>;
  using Blocks = std::vector<CowPtr<Block>>;

  template <typename B, typename K>
  static auto lower_bound(B& block, const K& key) {
    return std::lower_bound(block.begin(), block.end(), key,
                            [](const Item& item, const K& k) { return item.first < k; });
  }

  // The last block whose first key is not above `key`, or the first block. Not for an empty map.
  template <typename K>
  [[nodiscard]] std::size_t block_of(const K& key) const {
    const Blocks& blocks = *blocks_;
    if (blocks.size() == 1) return 0;
    auto above = std::upper_bound(
        blocks.begin() + 1, blocks.end(), key,
        [](const K& k, const CowPtr<Block>& block) { return k < block->front().first; });
    return static_cast<std::size_t>(above - blocks.begin()) - 1;
  }

  CowPtr<Blocks> blocks_;
  std::size_t size_ = 0;
};

}  // namespace weir::metadata

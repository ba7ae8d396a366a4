// Which objects stay when memory is short. Two queues, after S3-FIFO (Yang et al., SOSP 2023):
//
//   probation   objects that were read from the store; a quarter of the memory when there is no
//   room for more main        objects of this broker's own commits, which consumers are about to
//   read; and those that proved their worth
//
// The oldest object of probation goes first, so a scan through old data passes without touching
// main. An object proves its worth when it is used again later, or read again soon after it had to
// go. "Later" means: after half of its queue's share was added behind it; the many reads of one
// object that a consumer makes while it passes count for nothing.
//
// Not thread-safe, except for touch().
#pragma once
#include "base/units.h"
#include "cache/cached_object.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

namespace weir::cache {

// An object with its place in the queues. Shared with readers, who use `object` and touch() only.
struct CacheEntry {
  explicit CacheEntry(CachedObject cached) : object(std::move(cached)) {}

  CachedObject object;

 private:
  friend class Eviction;
  enum class Place : std::uint8_t { kNone, kProbation, kMain };

  std::atomic<Place> place_ = Place::kNone;
  std::atomic<std::uint64_t> counted_at_ =
      0;  // position of its queue at its last use that counted, or when it came
  std::atomic<std::uint32_t> uses_ = 0;  // that counted
  std::list<std::shared_ptr<CacheEntry>>::iterator at_;
};

using EntryPtr = std::shared_ptr<CacheEntry>;

class Eviction {
 public:
  explicit Eviction(ByteCount capacity);

  // A use of an entry. Any thread, at any time.
  void touch(CacheEntry& entry) const;

  // Of an entry that this broker committed.
  void add_own(EntryPtr entry);
  // Of an entry that was read from the store.
  void add_read(EntryPtr entry);
  // Takes the entry out, if it is in.
  void remove(CacheEntry& entry);
  // Takes out the entries that must go so that `extra` more bytes fit into the capacity.
  [[nodiscard]] std::vector<EntryPtr> make_room(ByteCount extra);

  [[nodiscard]] ByteCount bytes() const { return probation_.bytes + main_.bytes; }
  [[nodiscard]] std::size_t objects() const {
    return probation_.entries.size() + main_.entries.size();
  }

 private:
  using Place = CacheEntry::Place;

  struct Queue {
    ByteCount share = 0;
    ByteCount bytes = 0;
    std::atomic<std::uint64_t> added = 0;  // bytes ever; the queue's clock
    std::list<EntryPtr> entries;           // the newest first
  };

  // The objects that left probation lately, by the hash of their key.
  class Ghosts {
   public:
    explicit Ghosts(ByteCount capacity) : capacity_(capacity) {}
    void add(const CachedObject& object);
    // True when it is one of them; it is none any more.
    bool take(const CachedObject& object);

   private:
    struct Ghost {
      std::size_t hash;
      ByteCount charge;
      std::uint64_t number;
    };
    ByteCount capacity_;
    ByteCount bytes_ = 0;
    std::uint64_t next_ = 0;
    std::deque<Ghost> order_;
    std::unordered_map<std::size_t, std::uint64_t> numbers_;
  };

  void push(EntryPtr entry, Place place);
  EntryPtr pop(Queue& queue);
  // The oldest of probation: to main, or out.
  void shrink_probation(std::vector<EntryPtr>& out);
  void shrink_main(std::vector<EntryPtr>& out);

  const ByteCount capacity_;
  Queue probation_;
  Queue main_;
  Ghosts ghosts_;
};

}  // namespace weir::cache

#include "cache/eviction.h"

#include <algorithm>
#include <functional>

namespace weir::cache {
namespace {

constexpr std::uint32_t kMaxUses = 3;
// Probation's share of the capacity.
constexpr ByteCount kProbationPart = 4;
constexpr std::size_t kMaxGhosts = 16 * 1024;

std::size_t hash_of(const CachedObject& object) { return std::hash<std::string>{}(object.key()); }

}  // namespace

void Eviction::Ghosts::add(const CachedObject& object) {
  std::size_t hash = hash_of(object);
  numbers_[hash] = ++next_;
  order_.push_back({hash, object.charge(), next_});
  bytes_ += object.charge();
  while (bytes_ > capacity_ || order_.size() > kMaxGhosts) {
    const Ghost& oldest = order_.front();
    auto at = numbers_.find(oldest.hash);
    // A ghost that was taken, or came again since, has another number or none.
    if (at != numbers_.end() && at->second == oldest.number) numbers_.erase(at);
    bytes_ -= oldest.charge;
    order_.pop_front();
  }
}

bool Eviction::Ghosts::take(const CachedObject& object) {
  return numbers_.erase(hash_of(object)) > 0;
}

Eviction::Eviction(ByteCount capacity) : capacity_(capacity), ghosts_(capacity) {
  probation_.share = capacity / kProbationPart;
  main_.share = capacity - probation_.share;
}

void Eviction::touch(CacheEntry& entry) const {
  // Relaxed and racy on purpose: a use that is lost or counted twice does no harm.
  Place place = entry.place_.load(std::memory_order_relaxed);
  if (place == Place::kNone) return;
  const Queue& queue = place == Place::kMain ? main_ : probation_;
  std::uint64_t now = queue.added.load(std::memory_order_relaxed);
  std::uint64_t since = entry.counted_at_.load(std::memory_order_relaxed);
  if (now < since || now - since < queue.share / 2) return;
  entry.counted_at_.store(now, std::memory_order_relaxed);
  std::uint32_t uses = entry.uses_.load(std::memory_order_relaxed);
  if (uses < kMaxUses) entry.uses_.store(uses + 1, std::memory_order_relaxed);
}

void Eviction::add_own(EntryPtr entry) { push(std::move(entry), Place::kMain); }

void Eviction::add_read(EntryPtr entry) {
  bool proved = ghosts_.take(entry->object);
  push(std::move(entry), proved ? Place::kMain : Place::kProbation);
}

void Eviction::push(EntryPtr entry, Place place) {
  Queue& queue = place == Place::kMain ? main_ : probation_;
  ByteCount charge = entry->object.charge();
  queue.bytes += charge;
  std::uint64_t now = queue.added.fetch_add(charge, std::memory_order_relaxed) + charge;
  entry->counted_at_.store(now, std::memory_order_relaxed);
  entry->uses_.store(0, std::memory_order_relaxed);
  entry->place_.store(place, std::memory_order_relaxed);
  queue.entries.push_front(std::move(entry));
  queue.entries.front()->at_ = queue.entries.begin();
}

EntryPtr Eviction::pop(Queue& queue) {
  EntryPtr entry = std::move(queue.entries.back());
  queue.entries.pop_back();
  queue.bytes -= entry->object.charge();
  entry->place_.store(Place::kNone, std::memory_order_relaxed);
  return entry;
}

void Eviction::remove(CacheEntry& entry) {
  Place place = entry.place_.exchange(Place::kNone, std::memory_order_relaxed);
  if (place == Place::kNone) return;
  Queue& queue = place == Place::kMain ? main_ : probation_;
  queue.bytes -= entry.object.charge();
  queue.entries.erase(entry.at_);
}

std::vector<EntryPtr> Eviction::make_room(ByteCount extra) {
  std::vector<EntryPtr> out;
  while (bytes() + extra > capacity_ && objects() > 0) {
    bool too_much = probation_.bytes >= probation_.share || main_.entries.empty();
    if (too_much && !probation_.entries.empty()) {
      shrink_probation(out);
    } else {
      shrink_main(out);
    }
  }
  return out;
}

void Eviction::shrink_probation(std::vector<EntryPtr>& out) {
  EntryPtr oldest = pop(probation_);
  if (oldest->uses_.load(std::memory_order_relaxed) > 0) {
    push(std::move(oldest), Place::kMain);
    return;
  }
  ghosts_.add(oldest->object);
  out.push_back(std::move(oldest));
}

void Eviction::shrink_main(std::vector<EntryPtr>& out) {
  EntryPtr& oldest = main_.entries.back();
  std::uint32_t uses = oldest->uses_.load(std::memory_order_relaxed);
  if (uses == 0) {
    out.push_back(pop(main_));
    return;
  }
  oldest->uses_.store(uses - 1, std::memory_order_relaxed);
  main_.entries.splice(main_.entries.begin(), main_.entries, std::prev(main_.entries.end()));
}

}  // namespace weir::cache

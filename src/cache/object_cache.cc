#include "cache/object_cache.h"

#include "base/planted.h"
#include "storage/object_key.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::cache {
namespace {

// Readers may hold this part of the capacity in objects that have left the cache.
constexpr ByteCount kLingeringPart = 8;

// Single objects and the loads that run may take a part of the memory, never all of it.
CacheOptions within_capacity(CacheOptions options) {
  options.max_object = std::min(options.max_object, options.capacity / 2);
  options.max_loading = std::min(options.max_loading, options.capacity / 2);
  return options;
}

}  // namespace

ObjectCache::Meters ObjectCache::make_meters(MetricsRegistry& registry) {
  auto reads = [&](const char* result) -> Counter& {
    return registry.counter(
        "weir_cache_reads_total",
        "Reads of objects: hit (in memory), miss (loads the object), joined (waits for the "
        "load of another read), uncached (object too large to keep).",
        {{"result", result}});
  };
  return {
      .hits = reads("hit"),
      .misses = reads("miss"),
      .joined = reads("joined"),
      .uncached = reads("uncached"),
      .copied = registry.counter("weir_cache_copied_reads_total",
                                 "Reads that were copied, so as not to hold a whole object."),
      .load_errors =
          registry.counter("weir_cache_load_errors_total", "Loads of objects that failed."),
      .evictions = registry.counter("weir_cache_evictions_total",
                                    "Objects that had to make room for others."),
      .bytes =
          registry.gauge("weir_cache_bytes", "Memory of the cached objects and of loads that run."),
      .objects = registry.gauge("weir_cache_objects", "Objects in the cache."),
  };
}

ObjectCache::ObjectCache(storage::ObjectStore& store, MetricsRegistry& registry,
                         CacheOptions options, Check check)
    : store_(store),
      options_(within_capacity(options)),
      check_(std::move(check)),
      meters_(make_meters(registry)),
      loading_(options_.max_loading),
      eviction_(options_.capacity) {}

ObjectCache::Shard& ObjectCache::shard_of(const storage::ObjectKey& key) {
  return shards_[std::hash<storage::ObjectKey>{}(key) % kShards];
}

ByteCount ObjectCache::bytes() const {
  std::lock_guard lock(eviction_mutex_);
  return eviction_.bytes() + reserved_;
}

void ObjectCache::publish_sizes() {
  meters_.bytes.set(static_cast<std::int64_t>(eviction_.bytes() + reserved_));
  meters_.objects.set(static_cast<std::int64_t>(eviction_.objects()));
}

void ObjectCache::reserve(ByteCount bytes) {
  std::vector<EntryPtr> evicted;
  {
    std::lock_guard lock(eviction_mutex_);
    reserved_ += bytes;
    evicted = eviction_.make_room(reserved_ + *lingering_);
    publish_sizes();
  }
  meters_.evictions.add(evicted.size());
  for (const EntryPtr& entry : evicted) {
    entry->object.let_go();
    Shard& shard = shard_of(entry->object.key());
    std::lock_guard lock(shard.mutex);
    auto at = shard.slots.find(entry->object.key());
    if (at == shard.slots.end()) continue;
    const EntryPtr* found = std::get_if<EntryPtr>(&at->second);
    if (found != nullptr && *found == entry) shard.slots.erase(at);
  }
}

void ObjectCache::unreserve(ByteCount bytes) {
  std::lock_guard lock(eviction_mutex_);
  reserved_ -= bytes;
  publish_sizes();
}

void ObjectCache::settle(ByteCount reserved, EntryPtr entry, bool own) {
  std::lock_guard lock(eviction_mutex_);
  reserved_ -= reserved;
  if (own) {
    eviction_.add_own(std::move(entry));
  } else {
    eviction_.add_read(std::move(entry));
  }
  publish_sizes();
}

void ObjectCache::insert(storage::ObjectKey key, Chain body) {
  if (body.size() > options_.max_object) return;
  auto entry =
      std::make_shared<CacheEntry>(CachedObject(std::move(key), std::move(body), lingering_));
  ByteCount charge = entry->object.charge();
  reserve(charge);
  bool is_new = false;
  {
    Shard& shard = shard_of(entry->object.key());
    std::lock_guard lock(shard.mutex);
    is_new = shard.slots.try_emplace(entry->object.key(), entry).second;
  }
  if (is_new) {
    settle(charge, std::move(entry), true);
  } else {
    unreserve(charge);
  }
}

void ObjectCache::drop(const storage::ObjectKey& key) {
  EntryPtr entry;
  {
    Shard& shard = shard_of(key);
    std::lock_guard lock(shard.mutex);
    auto at = shard.slots.find(key);
    if (at == shard.slots.end()) return;
    // A load that runs goes on for those that wait, but finish_load() will not find its slot.
    if (const EntryPtr* found = std::get_if<EntryPtr>(&at->second)) entry = *found;
    shard.slots.erase(at);
  }
  if (!entry) return;
  entry->object.let_go();
  std::lock_guard lock(eviction_mutex_);
  eviction_.remove(*entry);
  publish_sizes();
}

Result<ObjectCache::Lookup> ObjectCache::look_up(const storage::ObjectKey& key) {
  Lookup out;
  Shard& shard = shard_of(key);
  std::lock_guard lock(shard.mutex);
  auto at = planted(Bug::kCacheMixesObjects) ? shard.slots.begin() : shard.slots.find(key);
  const EntryPtr* entry = at == shard.slots.end() ? nullptr : std::get_if<EntryPtr>(&at->second);
  if (entry != nullptr) {
    out.entry = *entry;
    return out;
  }
  WEIR_CHECK(begin_wait());
  if (at == shard.slots.end()) {
    out.mine = std::make_shared<Load>();
    shard.slots.emplace(key, out.mine);
  } else {
    std::get<LoadPtr>(at->second)->waiters.push_back(out.loaded);
  }
  return out;
}

Status ObjectCache::begin_wait() {
  if (waiting_.fetch_add(1) < options_.max_waiting) return {};
  end_wait();
  return fail(ErrorCode::kThrottled,
              fmt::format("{} reads wait for the object store already", options_.max_waiting));
}

Task<Result<EntryPtr>> ObjectCache::entry_of(const storage::ObjectKey& key, ByteCount object_size) {
  WEIR_CO_TRY(Lookup found, look_up(key));
  if (found.entry) {
    meters_.hits.add();
    eviction_.touch(*found.entry);
    co_return found.entry;
  }
  Result<EntryPtr> result;
  if (found.mine) {
    meters_.misses.add();
    result = co_await load(key, object_size);
    finish_load(key, found.mine, result);
  } else {
    meters_.joined.add();
    result = co_await found.loaded.wait();
  }
  end_wait();
  co_return result;
}

Task<Result<EntryPtr>> ObjectCache::load(const storage::ObjectKey& key, ByteCount object_size) {
  ByteBudget::Reservation turn = co_await loading_.reserve(object_size);
  ByteCount charge = CachedObject::charge_of(key, object_size, 1);
  reserve(charge);
  Result<Slice> body = co_await store_.get(key);
  if (body && body->size() != object_size) {
    body = fail(ErrorCode::kCorrupt, fmt::format("object {} has {} bytes instead of {}", key,
                                                 body->size(), object_size));
  }
  if (body && check_) {
    if (Status checked = check_(key, body->bytes()); !checked) {
      body = std::unexpected(std::move(checked).error());
    }
  }
  if (!body) {
    unreserve(charge);
    meters_.load_errors.add();
    co_return std::unexpected(std::move(body).error());
  }
  co_return std::make_shared<CacheEntry>(CachedObject(key, Chain(*std::move(body)), lingering_));
}

void ObjectCache::finish_load(const storage::ObjectKey& key, const LoadPtr& load,
                              const Result<EntryPtr>& result) {
  std::vector<OneShot<Result<EntryPtr>>> waiters;
  bool keep = false;
  {
    Shard& shard = shard_of(key);
    std::lock_guard lock(shard.mutex);
    waiters.swap(load->waiters);
    auto at = shard.slots.find(key);
    // drop() may have emptied the slot, and another load may have begun since.
    const LoadPtr* found = at == shard.slots.end() ? nullptr : std::get_if<LoadPtr>(&at->second);
    bool is_mine = found != nullptr && *found == load;
    keep = is_mine && result.has_value();
    if (keep) {
      at->second = *result;
    } else if (is_mine) {
      shard.slots.erase(at);
    }
  }
  if (keep) {
    settle((*result)->object.charge(), *result, false);
  } else if (result) {
    (*result)->object.let_go();
    unreserve((*result)->object.charge());
  }
  for (auto& waiter : waiters) waiter.set(result);
}

Task<Result<Chain>> ObjectCache::read_uncached(const storage::ObjectKey& key,
                                               storage::ByteRange range) {
  WEIR_CO_CHECK(begin_wait());
  meters_.uncached.add();
  ByteBudget::Reservation turn = co_await loading_.reserve(range.count);
  Result<Slice> body = co_await store_.get_range(key, range);
  end_wait();
  if (!body) {
    meters_.load_errors.add();
    co_return std::unexpected(std::move(body).error());
  }
  co_return Chain(*std::move(body));
}

Task<Result<Chain>> ObjectCache::read(storage::ObjectKey key, ByteCount object_size,
                                      storage::ByteRange range) {
  WEIR_CO_CHECK(storage::check_range(key, range, object_size));
  if (range.count == 0) co_return Chain();
  if (object_size > options_.max_object) co_return co_await read_uncached(key, range);
  WEIR_CO_TRY(EntryPtr entry, co_await entry_of(key, object_size));
  if (entry->object.size() != object_size) {
    co_return fail(ErrorCode::kCorrupt, fmt::format("object {} has {} bytes instead of {}", key,
                                                    entry->object.size(), object_size));
  }
  Chain bytes = entry->object.slice(range);
  const bool is_part = range.count <= object_size / 2;
  const bool is_much = lingering_bytes() > options_.capacity / kLingeringPart;
  if (!is_part || !is_much) co_return bytes;
  meters_.copied.add();
  Chain copies;
  for (const Slice& slice : bytes.slices()) copies.append(Slice::copy_of(slice.bytes()));
  co_return copies;
}

}  // namespace weir::cache

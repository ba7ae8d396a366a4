// The cache of whole objects between the read path and the object store. A broker's own objects
// come in at their commit, as the slices that were staged; others are read from the store once,
// whole, however many reads wait for them. Objects are immutable, so nothing is ever stale.
//
// Memory: entries and loads together stay within the capacity, and so does what was handed out of
// objects that have left since: it lives on, with the whole object, until its reader drops it.
// Where that becomes much, reads get copies of what they ask for, which are theirs to account for;
// so are the staged slices of own objects. Owned by main; thread-safe; reads resume on the caller's
// executor. The store and the registry outlive it, and reads must have ended before it dies.
//
// Errors of reads: those of the store, kThrottled (too many reads wait), kCorrupt (the object has
// another size than expected, or is another one), kInvalid (a range beyond the object). A failed
// load reaches all that wait for it and is not remembered.
#pragma once
#include "cache/eviction.h"
#include "runtime/byte_budget.h"
#include "runtime/metrics.h"
#include "runtime/oneshot.h"
#include "storage/object_store.h"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <variant>
#include <vector>

namespace weir::cache {

struct CacheOptions {
  ByteCount capacity = 256_MiB;
  // Larger objects are read by range and not kept. Never more than half of the capacity.
  ByteCount max_object = 32_MiB;
  // Bytes of loads that run at the same time; further ones wait in order. Never more than half of
  // the capacity.
  ByteCount max_loading = 64_MiB;
  // Reads that wait for a load, their own or another's.
  std::size_t max_waiting = 4096;
};

class ObjectCache {
 public:
  // Whether the bytes of a whole object, as it came from the store, are those of its key.
  using Check = std::function<Status(const storage::ObjectKey& key, Bytes object)>;

  ObjectCache(storage::ObjectStore& store, MetricsRegistry& registry, CacheOptions options,
              Check check = {});
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // An object that this broker has just committed.
  void insert(storage::ObjectKey key, Chain body);

  // The bytes of a range of an object of `object_size` bytes, without a copy. What lay in one slice
  // of the object lies in one slice of the answer.
  Task<Result<Chain>> read(storage::ObjectKey key, ByteCount object_size, storage::ByteRange range);

  // Forgets an object whose bytes proved to be damaged: the next read goes to the store.
  void drop(const storage::ObjectKey& key);

  // Memory of the entries and of the loads that run.
  [[nodiscard]] ByteCount bytes() const;
  // Memory of objects that left, and that readers still hold.
  [[nodiscard]] ByteCount lingering_bytes() const { return *lingering_; }

 private:
  // Reads that wait for the load of one object. Under the mutex of its shard.
  struct Load {
    std::vector<OneShot<Result<EntryPtr>>> waiters;
  };
  using LoadPtr = std::shared_ptr<Load>;
  struct Shard {
    std::mutex mutex;
    std::unordered_map<storage::ObjectKey, std::variant<EntryPtr, LoadPtr>> slots;
  };
  // What a read finds: the entry; or nothing, so that it makes `mine`; or the load of another read,
  // which sets `loaded`.
  struct Lookup {
    EntryPtr entry;
    LoadPtr mine;
    OneShot<Result<EntryPtr>> loaded;
  };
  struct Meters {
    Counter& hits;
    Counter& misses;
    Counter& joined;
    Counter& uncached;
    Counter& copied;
    Counter& load_errors;
    Counter& evictions;
    Gauge& bytes;
    Gauge& objects;
  };

  static Meters make_meters(MetricsRegistry& registry);
  Shard& shard_of(const storage::ObjectKey& key);
  Result<Lookup> look_up(const storage::ObjectKey& key);
  // Counts a read that has to wait, or refuses it; end_wait() follows.
  Status begin_wait();
  void end_wait() { --waiting_; }
  Task<Result<EntryPtr>> entry_of(const storage::ObjectKey& key, ByteCount object_size);
  Task<Result<EntryPtr>> load(const storage::ObjectKey& key, ByteCount object_size);
  Task<Result<Chain>> read_uncached(const storage::ObjectKey& key, storage::ByteRange range);
  void finish_load(const storage::ObjectKey& key, const LoadPtr& load,
                   const Result<EntryPtr>& result);
  // Makes room for bytes that are about to come, and counts them until they are an entry or given
  // up.
  void reserve(ByteCount bytes);
  void unreserve(ByteCount bytes);
  // Turns reserved bytes into an entry.
  void settle(ByteCount reserved, EntryPtr entry, bool own);
  void publish_sizes();  // under eviction_mutex_

  storage::ObjectStore& store_;
  const CacheOptions options_;
  const Check check_;  // empty: none
  Meters meters_;
  ByteBudget loading_;
  const std::shared_ptr<LingeringBytes> lingering_ = std::make_shared<LingeringBytes>(0);
  std::atomic<std::size_t> waiting_ = 0;
  // By the hash of the key. A read that hits takes its shard's mutex and no other; no two mutexes
  // are held at once.
  static constexpr std::size_t kShards = 16;
  std::array<Shard, kShards> shards_;
  mutable std::mutex eviction_mutex_;
  Eviction eviction_;
  ByteCount reserved_ = 0;  // under eviction_mutex_
};

}  // namespace weir::cache

// Incremental fetch sessions (KIP-227): the broker remembers the partitions of a consumer's fetch,
// so that later requests name only what changed and answers only what is new.
//
// FetchSession is the memory of one consumer; FetchSessionCache holds a limited number of them.
// Both are thread-safe: the cache is sharded by core, so that cores do not share a lock, and a
// session's own lock is free but for clients that break the protocol by using one session on two
// connections.
#pragma once
#include "base/error.h"
#include "fetch/partition_fetch.h"
#include "runtime/byte_budget.h"
#include "runtime/clock.h"
#include "runtime/rng.h"

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace weir::fetch {

using SessionId = std::int32_t;
using SessionEpoch = std::int32_t;

constexpr SessionId kNoSession = 0;
constexpr SessionEpoch kInitialEpoch = 0;  // a full fetch that asks for a new session
constexpr SessionEpoch kFinalEpoch = -1;   // a full fetch without a session

// The epoch after `epoch`: wraps to 1, as 0 has a meaning of its own.
[[nodiscard]] SessionEpoch next_epoch(SessionEpoch epoch);

// A partition's name within a session.
struct SessionKey {
  TopicId topic_id;
  std::string topic;
  PartitionIndex partition = 0;
  auto operator<=>(const SessionKey&) const = default;
};

class FetchSession {
 public:
  explicit FetchSession(bool uses_topic_ids) : uses_topic_ids_(uses_topic_ids) {}

  [[nodiscard]] bool uses_topic_ids() const { return uses_topic_ids_; }
  [[nodiscard]] std::size_t size() const;
  // The memory of its partitions.
  [[nodiscard]] ByteCount bytes() const;

  // Adds or changes `fetched`, removes `forgotten`.
  void update(std::span<const PartitionFetch> fetched, std::span<const SessionKey> forgotten);
  // All partitions in the order in which they are to be served.
  [[nodiscard]] std::vector<PartitionFetch> partitions() const;
  // Whether the answer must name this partition (records, an error, or a moved high watermark or
  // log start), remembering what was answered. A partition with records moves to the end of the
  // order, so that the others have their turn.
  [[nodiscard]] bool must_answer(const SessionKey& key, const PartitionData& data);
  // Remembers what a full answer said; the order stays.
  void remember(const SessionKey& key, const PartitionData& data);

 private:
  struct Cached {
    PartitionFetch fetch;
    Offset answered_high_watermark = kNoOffset;
    Offset answered_log_start = kNoOffset;
  };
  using Order = std::list<Cached>;

  static void remember(Cached& cached, const PartitionData& data);

  const bool uses_topic_ids_;
  mutable std::mutex mutex_;
  Order order_;
  std::map<SessionKey, Order::iterator> by_key_;
  ByteCount bytes_ = 0;
};

struct SessionLimits {
  std::size_t slots = 1000;                        // max.incremental.fetch.session.cache.slots
  ByteCount bytes_max = 64_MiB;                    // of all sessions
  Duration evict_after = std::chrono::minutes(2);  // min.incremental.fetch.session.eviction.ms
};

class FetchSessionCache {
 public:
  FetchSessionCache(std::size_t shards, SessionLimits limits, Clock& clock, Rng rng);

  // A new session, or kNoSession when every slot, or the memory, is taken by sessions that may not
  // be evicted yet.
  SessionId create(std::size_t shard, std::shared_ptr<FetchSession> session);

  // The session with this id if `epoch` is the one expected next; its epoch moves on. Errors:
  // FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
  [[nodiscard]] std::expected<std::shared_ptr<FetchSession>, kafka::KafkaError> acquire(
      SessionId id, SessionEpoch epoch, bool uses_topic_ids);
  // Counts a session anew that was updated. One that has no place any more is forgotten: its client
  // makes a full fetch.
  void recount(SessionId id);
  void remove(SessionId id);
  [[nodiscard]] std::size_t size() const;

 private:
  struct Slot {
    std::shared_ptr<FetchSession> session;
    SessionEpoch epoch = 1;  // expected next
    MonoTime created;
    MonoTime used;
    ByteBudget::Reservation memory;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<SessionId, Slot> slots;
    Rng rng{0};
  };

  Shard& shard_of(SessionId id) { return *shards_[static_cast<std::size_t>(id) % shards_.size()]; }
  [[nodiscard]] bool make_room(Shard& shard, std::size_t new_size, MonoTime now) const;
  [[nodiscard]] bool evict_unused(Shard& shard, MonoTime now) const;
  SessionId fresh_id(Shard& shard, std::size_t index) const;

  SessionLimits limits_;
  ByteBudget memory_;  // outlives the slots
  std::size_t slots_per_shard_;
  Clock& clock_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace weir::fetch

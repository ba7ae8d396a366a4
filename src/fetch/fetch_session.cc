#include "fetch/fetch_session.h"

#include "base/planted.h"

#include <algorithm>
#include <limits>

namespace weir::fetch {
namespace {

SessionKey key_of(const PartitionFetch& fetch) {
  return {fetch.topic_id, fetch.topic, fetch.partition};
}

// Nodes of the list and of the map, the topic's name in both, and the one it is known as.
ByteCount bytes_of(const PartitionFetch& fetch) {
  constexpr ByteCount kNodes = sizeof(PartitionFetch) + sizeof(SessionKey) + 128;
  return kNodes + 2 * fetch.topic.size() + fetch.known_as.size();
}

}  // namespace

SessionEpoch next_epoch(SessionEpoch epoch) {
  return epoch == std::numeric_limits<SessionEpoch>::max() ? 1 : epoch + 1;
}

std::size_t FetchSession::size() const {
  std::lock_guard lock(mutex_);
  return by_key_.size();
}

ByteCount FetchSession::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

void FetchSession::update(std::span<const PartitionFetch> fetched,
                          std::span<const SessionKey> forgotten) {
  std::lock_guard lock(mutex_);
  for (const PartitionFetch& fetch : fetched) {
    auto at = by_key_.find(key_of(fetch));
    if (at != by_key_.end()) {
      if (planted(Bug::kSessionStandsStill)) continue;
      PartitionFetch& known = at->second->fetch;
      bytes_ -= bytes_of(known);
      std::string known_as = std::move(known.known_as);
      known = fetch;
      // The first name stays: the topic may be gone by now.
      if (!known_as.empty()) known.known_as = std::move(known_as);
      bytes_ += bytes_of(known);
      continue;
    }
    order_.push_back({.fetch = fetch});
    bytes_ += bytes_of(fetch);
    by_key_.emplace(key_of(fetch), std::prev(order_.end()));
  }
  for (const SessionKey& key : forgotten) {
    auto at = by_key_.find(key);
    if (at == by_key_.end() || planted(Bug::kForgottenPartitionStays)) continue;
    bytes_ -= bytes_of(at->second->fetch);
    order_.erase(at->second);
    by_key_.erase(at);
  }
}

std::vector<PartitionFetch> FetchSession::partitions() const {
  std::lock_guard lock(mutex_);
  std::vector<PartitionFetch> out;
  out.reserve(order_.size());
  for (const Cached& cached : order_) out.push_back(cached.fetch);
  return out;
}

bool FetchSession::must_answer(const SessionKey& key, const PartitionData& data) {
  std::lock_guard lock(mutex_);
  auto at = by_key_.find(key);
  if (at == by_key_.end()) return true;
  Cached& cached = *at->second;
  bool must = !data.records.empty() || data.diverging ||
              data.high_watermark != cached.answered_high_watermark ||
              data.log_start_offset != cached.answered_log_start ||
              data.error != kafka::KafkaError::kNone;
  remember(cached, data);
  if (!data.records.empty()) order_.splice(order_.end(), order_, at->second);
  return must;
}

void FetchSession::remember(const SessionKey& key, const PartitionData& data) {
  std::lock_guard lock(mutex_);
  if (auto at = by_key_.find(key); at != by_key_.end()) remember(*at->second, data);
}

void FetchSession::remember(Cached& cached, const PartitionData& data) {
  cached.answered_high_watermark = data.high_watermark;
  cached.answered_log_start = data.log_start_offset;
  // After an error the consumer does not know the watermark: the next answer names the partition
  // again.
  if (data.error != kafka::KafkaError::kNone) cached.answered_high_watermark = kNoOffset;
}

FetchSessionCache::FetchSessionCache(std::size_t shards, SessionLimits limits, Clock& clock,
                                     Rng rng)
    : limits_(limits),
      memory_(limits.bytes_max),
      slots_per_shard_((limits.slots + shards - 1) / shards),
      clock_(clock) {
  for (std::size_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<Shard>());
    shards_.back()->rng = Rng(rng.next());
  }
}

SessionId FetchSessionCache::create(std::size_t shard_index,
                                    std::shared_ptr<FetchSession> session) {
  Shard& shard = *shards_[shard_index];
  MonoTime now = clock_.now();
  std::lock_guard lock(shard.mutex);
  if (!make_room(shard, session->size(), now)) return kNoSession;
  const ByteCount bytes = session->bytes();
  ByteBudget::Reservation memory = memory_.try_reserve(bytes);
  while (!memory && evict_unused(shard, now)) memory = memory_.try_reserve(bytes);
  if (!memory) return kNoSession;
  SessionId id = fresh_id(shard, shard_index);
  shard.slots[id] = {.session = std::move(session),
                     .epoch = 1,
                     .created = now,
                     .used = now,
                     .memory = std::move(memory)};
  return id;
}

bool FetchSessionCache::evict_unused(Shard& shard, MonoTime now) const {
  auto oldest = std::ranges::min_element(shard.slots, {},
                                         [](const auto& entry) { return entry.second.used; });
  if (oldest == shard.slots.end() || now - oldest->second.used <= limits_.evict_after) return false;
  shard.slots.erase(oldest);
  return true;
}

void FetchSessionCache::recount(SessionId id) {
  Shard& shard = shard_of(id);
  std::lock_guard lock(shard.mutex);
  auto at = shard.slots.find(id);
  if (at == shard.slots.end()) return;
  at->second.memory.reset();
  at->second.memory = memory_.try_reserve(at->second.session->bytes());
  if (!at->second.memory) shard.slots.erase(at);
}

// The session that was not used for longest goes first, if it is old enough; otherwise the smallest
// that had its time, for a larger one (KIP-227, "Cache Eviction").
bool FetchSessionCache::make_room(Shard& shard, std::size_t new_size, MonoTime now) const {
  if (slots_per_shard_ == 0) return false;
  if (shard.slots.size() < slots_per_shard_) return true;
  if (evict_unused(shard, now)) return true;
  auto smallest = shard.slots.end();
  for (auto at = shard.slots.begin(); at != shard.slots.end(); ++at) {
    if (now - at->second.created <= limits_.evict_after) continue;
    if (smallest == shard.slots.end() ||
        at->second.session->size() < smallest->second.session->size())
      smallest = at;
  }
  if (smallest == shard.slots.end() || smallest->second.session->size() >= new_size) return false;
  shard.slots.erase(smallest);
  return true;
}

// A positive id that is free and belongs to the shard.
SessionId FetchSessionCache::fresh_id(Shard& shard, std::size_t index) const {
  const std::uint64_t shards = shards_.size();
  const std::uint64_t choices = std::numeric_limits<SessionId>::max() / shards - 1;
  while (true) {
    auto id = static_cast<SessionId>((shard.rng.below(choices) + 1) * shards + index);
    if (!shard.slots.contains(id)) return id;
  }
}

std::expected<std::shared_ptr<FetchSession>, kafka::KafkaError> FetchSessionCache::acquire(
    SessionId id, SessionEpoch epoch, bool uses_topic_ids) {
  if (id <= 0) return std::unexpected(kafka::KafkaError::kFetchSessionIdNotFound);
  Shard& shard = shard_of(id);
  std::lock_guard lock(shard.mutex);
  auto at = shard.slots.find(id);
  if (at == shard.slots.end()) return std::unexpected(kafka::KafkaError::kFetchSessionIdNotFound);
  if (at->second.epoch != epoch)
    return std::unexpected(kafka::KafkaError::kInvalidFetchSessionEpoch);
  if (at->second.session->uses_topic_ids() != uses_topic_ids) {
    return std::unexpected(kafka::KafkaError::kFetchSessionTopicIdError);
  }
  at->second.epoch = next_epoch(epoch);
  at->second.used = clock_.now();
  return at->second.session;
}

void FetchSessionCache::remove(SessionId id) {
  if (id <= 0) return;
  Shard& shard = shard_of(id);
  std::lock_guard lock(shard.mutex);
  shard.slots.erase(id);
}

std::size_t FetchSessionCache::size() const {
  std::size_t total = 0;
  for (const auto& shard : shards_) {
    std::lock_guard lock(shard->mutex);
    total += shard->slots.size();
  }
  return total;
}

}  // namespace weir::fetch

#include "metadata/membership.h"

#include "runtime/rng.h"

namespace weir::metadata {
namespace {

// Heartbeats are late by up to this part of their interval.
constexpr Duration::rep kLatest = 16;

}  // namespace

void Membership::look(const std::map<BrokerId, BrokerState>& brokers, MonoTime now) {
  for (const auto& [id, broker] : brokers) {
    if (broker.fenced) {
      live_.erase(id);
      continue;
    }
    Seen& seen = live_[id];
    if (seen.epoch == broker.image.epoch && seen.last_position == broker.last_position) continue;
    seen = {.epoch = broker.image.epoch, .last_position = broker.last_position, .since = now};
  }
}

void Membership::woke(MonoTime due, MonoTime now) {
  const Duration late = now - due;
  if (late > options_.session_timeout / 3) was_blind(now + std::min(late, options_.return_time));
}

bool Membership::heartbeat_due(MonoTime now) const {
  auto own = live_.find(self_);
  return own != live_.end() && live_.size() > 1 && now >= next_heartbeat(own->second);
}

// Brokers that were started together would otherwise append at the same moments for ever.
MonoTime Membership::next_heartbeat(const Seen& own) const {
  constexpr std::uint64_t kSteps = 64;
  Rng rng(static_cast<std::uint64_t>(own.last_position) * 1009 + static_cast<std::uint64_t>(self_));
  const auto step = static_cast<Duration::rep>(rng.next() % kSteps);
  return own.since + options_.heartbeat_interval +
         options_.heartbeat_interval * step / (Duration::rep{kSteps} * kLatest);
}

MonoTime Membership::end_of_session(const Seen& seen) const {
  return std::max(seen.since, seeing_since_) + options_.session_timeout;
}

std::vector<FenceBroker> Membership::silent(MonoTime now) const {
  std::vector<FenceBroker> out;
  for (const auto& [id, seen] : live_) {
    if (id == self_ || now < end_of_session(seen)) continue;
    out.push_back({.broker_id = id, .epoch = seen.epoch, .last_seen = seen.last_position});
  }
  return out;
}

MonoTime Membership::next(MonoTime now) const {
  // Others may come at any time: then the first heartbeat must not be late.
  MonoTime at = now + options_.heartbeat_interval + options_.heartbeat_interval / kLatest;
  for (const auto& [id, seen] : live_) {
    if (id != self_) {
      at = std::min(at, end_of_session(seen));
    } else if (live_.size() > 1) {
      at = std::min(at, next_heartbeat(seen));
    }
  }
  // What is overdue was just tried in vain.
  return std::max(at, now + options_.heartbeat_interval / 8);
}

}  // namespace weir::metadata

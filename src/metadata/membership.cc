#include "metadata/membership.h"

namespace weir::metadata {

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
  return own != live_.end() && live_.size() > 1 &&
         now - own->second.since >= options_.heartbeat_interval;
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
  MonoTime at = now + options_.heartbeat_interval;
  for (const auto& [id, seen] : live_) {
    if (id != self_) {
      at = std::min(at, end_of_session(seen));
    } else if (live_.size() > 1) {
      at = std::min(at, seen.since + options_.heartbeat_interval);
    }
  }
  // What is overdue was just tried in vain.
  return std::max(at, now + options_.heartbeat_interval / 8);
}

}  // namespace weir::metadata

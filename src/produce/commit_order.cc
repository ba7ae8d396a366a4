#include "produce/commit_order.h"

#include "base/planted.h"

#include <algorithm>

namespace weir::produce {

CommitOrder::Ticket CommitOrder::enter(std::span<const TopicPartition> partitions) {
  Ticket ticket = next_++;
  std::vector<Ticket> leaders;
  for (const TopicPartition& partition : partitions) {
    auto [at, fresh] = last_.try_emplace(partition, ticket);
    if (fresh) continue;
    if (!planted(Bug::kBatchesReordered)) leaders.push_back(at->second);
    at->second = ticket;
  }
  std::ranges::sort(leaders);
  leaders.erase(std::ranges::unique(leaders).begin(), leaders.end());
  for (Ticket leader : leaders) flights_[leader].followers.push_back(ticket);
  flights_[ticket] = {.partitions = {partitions.begin(), partitions.end()},
                      .followers = {},
                      .waits_for = leaders.size(),
                      .is_settled = false,
                      .is_uploaded = false};
  return ticket;
}

std::vector<CommitOrder::Ticket> CommitOrder::uploaded(Ticket ticket) {
  return settle(ticket, true);
}

std::vector<CommitOrder::Ticket> CommitOrder::failed(Ticket ticket) {
  return settle(ticket, false);
}

// Settled objects leave when nothing they wait for is left, and free their followers.
std::vector<CommitOrder::Ticket> CommitOrder::settle(Ticket ticket, bool is_uploaded) {
  Flight& settled = flights_.at(ticket);
  settled.is_settled = true;
  settled.is_uploaded = is_uploaded;
  std::vector<Ticket> ready;
  std::vector<Ticket> leaving;
  if (settled.waits_for == 0) leaving.push_back(ticket);
  while (!leaving.empty()) {
    Ticket current = leaving.back();
    leaving.pop_back();
    if (flights_.at(current).is_uploaded) ready.push_back(current);
    leave(current, leaving);
  }
  std::ranges::sort(ready);
  return ready;
}

void CommitOrder::leave(Ticket ticket, std::vector<Ticket>& freed) {
  Flight flight = std::move(flights_.at(ticket));
  flights_.erase(ticket);
  for (const TopicPartition& partition : flight.partitions) {
    auto at = last_.find(partition);
    if (at != last_.end() && at->second == ticket) last_.erase(at);
  }
  for (Ticket follower : flight.followers) {
    Flight& next = flights_.at(follower);
    if (--next.waits_for == 0 && next.is_settled) freed.push_back(follower);
  }
}

}  // namespace weir::produce

// Which uploaded objects may be committed now: an object waits for every earlier one with which it
// shares a partition, and for no other, so that one slow PUT does not hold up the rest. Bookkeeping
// only; single-threaded.
#pragma once
#include "base/ids.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir::produce {

class CommitOrder {
 public:
  using Ticket = std::uint64_t;

  // In flush order: `partitions` of the new object, each once.
  Ticket enter(std::span<const TopicPartition> partitions);
  // The object is uploaded. Returns the tickets that may be committed now, in flush order.
  [[nodiscard]] std::vector<Ticket> uploaded(Ticket ticket);
  // The object will never be committed. Those that wait for it go on waiting for the ones it waits
  // for itself.
  [[nodiscard]] std::vector<Ticket> failed(Ticket ticket);
  [[nodiscard]] std::size_t in_flight() const { return flights_.size(); }

 private:
  struct Flight {
    std::vector<TopicPartition> partitions;
    std::vector<Ticket> followers;
    std::size_t waits_for = 0;
    bool is_settled = false;  // its upload ended, well or not
    bool is_uploaded = false;
  };

  [[nodiscard]] std::vector<Ticket> settle(Ticket ticket, bool is_uploaded);
  void leave(Ticket ticket, std::vector<Ticket>& freed);

  Ticket next_ = 1;
  std::unordered_map<Ticket, Flight> flights_;
  std::unordered_map<TopicPartition, Ticket>
      last_;  // the last object in flight that has this partition
};

}  // namespace weir::produce

// What clients of a simulation saw, and the checkers that judge it. A checker is told of events and
// writes down what cannot be; the simulation goes on. All on one thread.
#pragma once
#include "base/ids.h"
#include "base/units.h"
#include "sim/world.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace weir::sim {

struct Violation {
  std::string checker;
  std::string subject;  // what it is about, as World::tell() names it
  std::string what;
};

// The topics that clients check, by number.
constexpr std::int32_t kOrders = 0;  // keeps everything
constexpr std::int32_t kEvents = 1;  // loses its oldest records to DeleteRecords
[[nodiscard]] const char* topic_name(std::int32_t topic);
[[nodiscard]] std::int32_t topic_number(std::string_view name);

struct Where {
  std::int32_t topic = kOrders;
  PartitionIndex partition = 0;
  auto operator<=>(const Where&) const = default;
};
[[nodiscard]] std::string to_string(const Where& where);

// Grows with everything that a client is told or asks for: what was before what.
using Moment = std::uint64_t;

// One record as a client knows it. Values are never used twice, but for retries of one record.
struct Seen {
  Where where;
  Offset offset = 0;
  std::string value;
  Moment at = 0;
};

// A batch of a plain producer that was sent once, and is known to stand.
struct SentBatch {
  std::uint64_t connection = 0;
  std::uint64_t number = 0;  // of what was sent on the connection
  Where where;
  Offset base_offset = 0;
};

// What a process told of a partition.
struct Bounds {
  std::uint64_t process = 0;  // as SimProcess::number()
  Where where;
  Offset log_start = 0;
  Offset high_watermark = 0;
  Moment asked = 0;
  Moment at = 0;
};

// A commit of an offset that was answered without an error.
struct Commit {
  std::string group;
  std::int32_t generation = -1;  // -1: not by a member
  std::string member;
  std::string instance;  // of a static member
  Where where;
  Offset offset = 0;
  Moment sent = 0;
  Moment at = 0;
  // Before that it does not expire.
  MonoTime lasts_until = MonoTime::max();
};

// An offset that expiry removed.
struct Expiry {
  std::string group;
  bool has_members = false;
  std::int64_t early_ms = 0;  // before its time; not above zero: it was due
};

// A static member has a member id.
struct Joined {
  std::string group;
  std::string instance;
  std::string member;
  Moment at = 0;
};

// What a member of a group was told to read.
struct Assignment {
  std::string group;
  std::int32_t generation = 0;
  std::string member;
  std::string instance;  // of a static member (KIP-345), whatever its member id
  std::vector<PartitionIndex> partitions;
  Moment at = 0;
};

// An object of records that a broker removes from the store.
struct Removal {
  std::string key;
  bool is_referenced = false;  // an extent lies in it
  bool is_foreign = false;     // another broker process wrote it, and no entry names it
  Duration age{};
  Duration grace{};                      // of orphans
  std::optional<Duration> unneeded_for;  // since its last extent is gone; none: it never had one
  Duration delete_grace{};               // of those
};

struct MemoryUse {
  BrokerId broker = 0;
  ByteCount used = 0;
  ByteCount limit = 0;
  bool is_idle = false;  // nothing is being asked of the broker
};

class Checker {
 public:
  virtual ~Checker() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  // The producer was told that its record stands there.
  virtual void on_acknowledged(const Seen&) {}
  virtual void on_batch(const SentBatch&) {}
  // It is sent once, with acks=0; nobody knows whether it will stand, and where.
  virtual void on_sent(const SentBatch&, const std::string& /*first value*/) {}
  // The broker answered such a request.
  virtual void on_unasked_answer(BrokerId) {}
  // A consumer read the record.
  virtual void on_read(const Seen&) {}
  // A consumer that has read up to `expected` was given `offset` next.
  virtual void on_gap(const Where&, Offset /*expected*/, Offset /*offset*/) {}
  // A consumer was given bytes that are no whole batch.
  virtual void on_broken_batch(const Where&, Offset) {}
  // A fetch at the offset was answered with an error that only a fault of the store explains.
  virtual void on_damage_told(const Where&, Offset, bool /*is_possible*/) {}
  virtual void on_out_of_range(const Where&, Offset) {}
  // A fetch was answered with a partition that it did not ask for, or not any more in its session.
  virtual void on_unasked_partition(const Where&, BrokerId) {}
  virtual void on_bounds(const Bounds&) {}
  // From that time on the partition ends there in the log.
  virtual void on_log_end(const Where&, MonoTime, Offset) {}
  // A broker answered at that time: the partition has all offsets before this one.
  virtual void on_end_told(const Where&, MonoTime /*answered*/, Offset) {}
  // Records before the offset are about to be deleted.
  virtual void on_trim_asked(const Where&, Offset) {}
  // Who asked at that moment for the end of a partition was told the offset.
  virtual void on_latest(const Where&, Moment /*asked*/, Offset) {}
  virtual void on_committed(const Commit&) {}
  virtual void on_committed_read(const std::string& /*group*/, const Where&, Moment /*asked*/,
                                 MonoTime /*answered*/, Offset) {}
  virtual void on_expired(const Expiry&) {}
  // The log has the member. A group that was deleted and is made again has another life; those of
  // all groups are told apart.
  virtual void on_member(const std::string& /*member*/, std::uint64_t /*life*/) {}
  // At the end: a group that expiry should have removed.
  virtual void on_left_group(const std::string& /*group*/, const std::string& /*why*/) {}
  virtual void on_joined(const Joined&) {}
  virtual void on_assigned(const Assignment&) {}
  // A broker's state after the entry at `position`.
  virtual void on_state(std::int64_t /*position*/, std::uint64_t /*hash*/) {}
  // An entry took effect whose writer had been fenced, or registered anew, in the log before it.
  virtual void on_fenced_entry(BrokerId, BrokerEpoch, std::int64_t /*position*/) {}
  // A broker that starts now finds no snapshot, or not the latest.
  virtual void on_snapshot_lost(const std::string& /*why*/) {}
  // An entry that commits the object stands in the log.
  virtual void on_object_committed(const std::string& /*key*/, bool /*is_stored*/) {}
  virtual void on_object_removed(const Removal&) {}
  // At the end: what is left in the store that no entry names, and for how long.
  virtual void on_left_object(const std::string& /*key*/, const std::string& /*why*/) {}
  // At the end: the state says so many extents lie in the object, and so many do.
  virtual void on_references(const std::string& /*key*/, std::uint64_t /*counted*/,
                             std::uint64_t /*real*/) {}
  // At the end: an extent was read from the store.
  virtual void on_extent(const std::string& /*what*/, const std::string& /*error*/) {}
  virtual void on_memory(const MemoryUse&) {}
  // A fetch that waited for data was answered so long after the data was acknowledged.
  virtual void on_wake_up(BrokerId, Duration) {}
  // What should have happened has not, though nothing is broken any more.
  virtual void on_stuck(const std::string& /*subject*/, const std::string& /*what*/) {}
  // The log was restored to an older state, and the broker goes on.
  virtual void on_restore_unnoticed(BrokerId) {}
  // A broker found that the log holds another history than it read. `was_restored`: it may.
  virtual void on_divergence(BrokerId, const std::string& /*why*/, bool /*was_restored*/) {}
  // A client got an answer from a broker that had known for a while that its history is lost.
  virtual void on_answer_of_lost_history(BrokerId) {}
  // Everything is read once more from here on, from the log starts to the high watermarks.
  virtual void on_last_reading() {}
  // The end: that was done.
  virtual void on_end() {}

  [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }

 protected:
  // The first few are kept: they tell enough.
  void violate(std::string subject, std::string what);

 private:
  std::vector<Violation> violations_;
};

class History {
 public:
  // `offsets_retention`: a committed offset lasts at least so long.
  History(World& world, Duration offsets_retention);

  // Calls `tell` with each checker.
  template <typename Tell>
  void tell(Tell tell) {
    for (auto& checker : checkers_) {
      const std::size_t before = checker->violations().size();
      tell(*checker);
      if (checker->violations().size() > before) end_trace(*checker);
    }
  }
  [[nodiscard]] Moment next_moment() { return ++moment_; }
  // Until when an offset lasts that is committed now.
  [[nodiscard]] MonoTime lasts_until() const { return world_.now() + offsets_retention_; }
  [[nodiscard]] std::vector<Violation> violations() const;

  std::uint64_t acknowledged = 0;
  std::uint64_t read = 0;
  std::uint64_t deleted = 0;  // objects of records
  std::uint64_t commits = 0;  // by members of groups
  std::uint64_t rebalances = 0;

 private:
  void end_trace(const Checker& checker);

  World& world_;
  const Duration offsets_retention_;
  std::vector<std::unique_ptr<Checker>> checkers_;
  Moment moment_ = 0;
};

}  // namespace weir::sim

// What the entries of the log do to groups, seen from outside: whether what expiry deletes was due,
// and what it should have deleted. Part of the Witness. In a simulation no client deletes groups or
// offsets; what goes has expired, or its topic is gone.
#pragma once
#include "metadata/state/state.h"
#include "sim/history.h"

#include <map>

namespace weir::sim {

class GroupWitness {
 public:
  // `retention`: offsets last at least so long, by the clocks of the brokers.
  GroupWitness(History& history, Duration retention)
      : history_(&history),
        retention_ms_(std::chrono::duration_cast<std::chrono::milliseconds>(retention).count()) {}

  // A command that was applied, with its result.
  void see(const metadata::RecordHeader& header, const metadata::Command& command,
           const metadata::CommandResult& result);
  // At the end, when nobody is a member any more: `now` is that of all brokers, or a bit earlier.
  void judge_end(TimestampMs now);

 private:
  struct Times {
    TimestampMs committed = 0;
    TimestampMs expires = kNoTimestamp;
  };
  struct Group {
    std::uint64_t life = 0;
    bool has_members = false;
    bool had_members = false;
    TimestampMs state_time = 0;
    std::map<TopicPartition, Times> offsets;
  };
  void see_claim(const metadata::RecordHeader& header, const metadata::GroupClaim& claim);
  void see_commit(const metadata::RecordHeader& header, const metadata::GroupCommit& commit);
  void see_offsets(const metadata::OffsetCommit& commit, const metadata::CommandResult& result);
  void see_deleted(TimestampMs now, const std::string& name, const TopicPartition& partition);
  void see_group_deleted(TimestampMs now, const std::string& name);
  void see_topics_deleted(const metadata::DeleteTopics& command,
                          const metadata::CommandResult& result);
  [[nodiscard]] TimestampMs end_of(const Group& group, const Times& offset) const;

  History* history_;
  std::int64_t retention_ms_;
  std::uint64_t lives_ = 0;
  std::map<std::string, Group> groups_;
};

}  // namespace weir::sim

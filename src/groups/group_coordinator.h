// The group coordinator: the classic consumer group protocol and committed offsets
// (kafka-protocol.md cases 74 to 81, KIP-211, KIP-345). Groups live in memory here and in the
// metadata log: what a completed rebalance decided, and every committed offset, is an entry, so
// that after a restart, and when another broker takes over, generation, members and offsets are as
// they were. A group that has another owner (metadata/live_owner.h) is answered with
// NOT_COORDINATOR.
//
// Owned by main, which registers it with the coordinator. Calls come from any core and resume
// there; everything inside runs on the one executor it is given. Requests are taken in the terms of
// the protocol; the views in them must live until the call returns.
#pragma once
#include "base/units.h"
#include "groups/group.h"
#include "kafka/protocol/messages/delete_groups.h"
#include "kafka/protocol/messages/describe_groups.h"
#include "kafka/protocol/messages/heartbeat.h"
#include "kafka/protocol/messages/leave_group.h"
#include "kafka/protocol/messages/list_groups.h"
#include "kafka/protocol/messages/offset_commit.h"
#include "kafka/protocol/messages/offset_delete.h"
#include "metadata/coordinator.h"
#include "runtime/clock.h"
#include "runtime/notifier.h"
#include "runtime/oneshot.h"
#include "runtime/rng.h"
#include "runtime/task_group.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::groups {

// The keys are Kafka's (group.*, offset*).
struct GroupLimits {
  Duration initial_rebalance_delay = std::chrono::seconds(3);
  std::int32_t min_session_timeout_ms = 6'000;
  std::int32_t max_session_timeout_ms = 1'800'000;
  std::size_t max_size = 2'147'483'647;
  // What the members of all groups may say about themselves; a join beyond it is told to try again.
  ByteCount members_max_bytes = 64_MiB;
  std::size_t offset_metadata_max_bytes = 4096;
  std::int64_t offsets_retention_ms = 7LL * 24 * 3600 * 1000;
  Duration offsets_check_interval = std::chrono::minutes(10);
  // A member that was given an id with its first join has this long to use it, if its session does
  // not end before.
  Duration new_member_join_timeout = std::chrono::minutes(5);
};

// Who sends a request.
struct GroupClient {
  std::string client_id;
  std::string host;  // as Kafka shows it: "/127.0.0.1"
  // The request's place in the memory budgets: kept until the member has its own.
  std::shared_ptr<const void> reservation;
};

// The answer to a commit, which comes when the log has it, or after 5 s
// (COORDINATOR_LOAD_IN_PROGRESS: it may still get there).
using PendingCommit = OneShot<kafka::OffsetCommitResponse>;

class GroupCoordinator final : public metadata::CommitListener {
 public:
  GroupCoordinator(metadata::Coordinator& coordinator, BrokerId self, Clock& clock,
                   Executor executor, GroupLimits limits, Rng rng);
  ~GroupCoordinator() override;

  // Takes over the groups of this broker that have members, so that their sessions run, and starts
  // the expiry of offsets. May be called again after an error.
  Task<Status> start();
  // Answers all that wait with COORDINATOR_NOT_AVAILABLE and ends.
  Task<void> stop();

  // These two end with the rebalance, which may be minutes away: the request may go as soon as the
  // task has been made. A member that names more than a thousand protocols (clients name one or
  // two) is refused with INCONSISTENT_GROUP_PROTOCOL.
  Task<kafka::JoinGroupResponse> join(GroupClient client, const kafka::JoinGroupRequest& request,
                                      std::int16_t version);
  // `reservation` as in GroupClient.
  Task<kafka::SyncGroupResponse> sync(const kafka::SyncGroupRequest& request,
                                      std::shared_ptr<const void> reservation);
  Task<kafka::HeartbeatResponse> heartbeat(const kafka::HeartbeatRequest& request);
  Task<kafka::LeaveGroupResponse> leave(const kafka::LeaveGroupRequest& request,
                                        std::int16_t version);
  // Returns when the commit stands in line for the log, in the order of the calls: who reads on
  // then may send the next one.
  Task<PendingCommit> start_commit(const kafka::OffsetCommitRequest& request, std::int16_t version);
  // Until the commits that stand in line now have their outcome: who asks for offsets behind its
  // own commit on one connection gets what it committed.
  Task<void> wait_for_commits(std::string group_id);
  Task<kafka::OffsetDeleteResponse> delete_offsets(const kafka::OffsetDeleteRequest& request);
  Task<kafka::ListGroupsResponse> list(const kafka::ListGroupsRequest& request);
  // A group that is named several times is answered once, where it is named first: the answer would
  // be as much longer than what the groups are.
  Task<kafka::DescribeGroupsResponse> describe(const kafka::DescribeGroupsRequest& request,
                                               std::int16_t version);
  Task<kafka::DeleteGroupsResponse> remove(const kafka::DeleteGroupsRequest& request);

  // NONE when this broker coordinates the group.
  Task<kafka::KafkaError> check_owner(std::string group_id);

  // One pass of the expiry of offsets (KIP-211), and of groups without members and offsets.
  Task<void> expire_offsets();

  void on_partitions_advanced(std::span<const TopicPartition>) override {}
  void on_image_changed() override;
  void on_groups_changed(std::span<const std::string> groups) override;

 private:
  using GroupPtr = std::shared_ptr<Group>;

  // ---- which groups are ours (holding.cc) ----
  // A group that this broker has claimed; null without an error: there is no such group.
  struct Held {
    kafka::KafkaError error = kafka::KafkaError::kNone;
    GroupPtr group;
  };
  enum class Missing { kIsNone, kIsMade };
  Task<Held> hold(std::string group_id, Missing missing);
  Task<Held> find_or_claim(std::string group_id, Missing missing);
  Task<Held> claim(std::string group_id);
  Task<Held> claim_once(const std::string& group_id);
  // A group that is in memory alone: ids were handed out for it, and nobody has joined yet. Null:
  // there is none.
  [[nodiscard]] GroupPtr draft(const std::string& group_id) const;
  // Forgets a draft with which nobody can join any more.
  void drop_if_bare(const GroupPtr& group);
  [[nodiscard]] bool is_owner(std::string_view group_id) const;
  // Null when this broker has not claimed it.
  [[nodiscard]] GroupPtr held(std::string_view group_id) const;
  // For reading: a group that is not claimed as it stands in the log, or a draft. Null when there
  // is none.
  [[nodiscard]] GroupPtr look_at(const std::string& group_id) const;
  // Drops a group that another broker owns or claimed, or that the log no longer knows.
  void forget(const GroupPtr& group);
  void let_go_if_claimed(const std::string& group_id);
  void settle_ownership();
  Task<void> take_over_until_done();
  Task<Status> take_over();
  // Acts on each group, on many of them together: what they write shares log entries.
  Task<void> for_each_group(std::vector<std::string> ids,
                            std::function<Task<void>(std::string)> act);

  std::string new_member_id(const std::optional<std::string>& instance_id,
                            const std::string& client_id);

  // ---- joining (join.cc) ----
  struct Joiner {
    GroupClient client;
    std::optional<std::string> instance_id;
    std::string member_id;
    std::int32_t session_timeout_ms = 0;
    std::int32_t rebalance_timeout_ms = 0;
    std::string protocol_type;
    std::vector<MemberProtocol> protocols;
    std::int16_t version = 0;
    ByteBudget::Reservation memory;
    JoinReply reply;
  };
  Task<kafka::JoinGroupResponse> do_join(Joiner joiner, std::string group_id);
  Task<Held> make_for(const std::string& group_id, Joiner& joiner);
  void join_new(const GroupPtr& group, Joiner& joiner);
  void join_known(const GroupPtr& group, Joiner& joiner);
  void join_returning_static(const GroupPtr& group, Joiner& joiner, const std::string& old_id);
  Task<void> finish_static_return(GroupPtr group, std::string member_id, std::string old_leader,
                                  std::int16_t version, JoinReply reply);
  [[nodiscard]] ByteBudget::Reservation reserve_memory(ByteCount bytes);
  [[nodiscard]] kafka::KafkaError check_join(const GroupPtr& group, const Joiner& joiner) const;
  bool take_memory(Group& group, Joiner& joiner);
  // KIP-394: it joins again with the id.
  [[nodiscard]] static bool is_given_id_first(const Joiner& joiner);
  void give_member_id(const GroupPtr& group, Joiner& joiner);
  void add_member(const GroupPtr& group, Joiner& joiner, const std::string& member_id);
  void update_member(const GroupPtr& group, Member& member, Joiner& joiner);
  [[nodiscard]] bool has_room(const Group& group, std::string_view member_id) const;

  // ---- rebalances (rebalance.cc) ----
  void prepare_rebalance(const GroupPtr& group);
  void prepare_or_complete(const GroupPtr& group);
  void wait_for_more_members(const GroupPtr& group, Duration delay, Duration left);
  void call_later(const GroupPtr& group, Duration delay,
                  std::move_only_function<void(const GroupPtr&)> action);
  void complete_join_if_all_here(const GroupPtr& group);
  void complete_join(const GroupPtr& group);
  void answer_joined(const GroupPtr& group);
  void fail_syncing(const GroupPtr& group, kafka::KafkaError error);
  void assign(const GroupPtr& group);
  void remove_member(const GroupPtr& group, const std::string& member_id);
  void member_left(const GroupPtr& group);
  void expect_syncs(const GroupPtr& group);

  // ---- sessions ----
  void keep_alive(const GroupPtr& group, Member& member);
  void watch_session(const GroupPtr& group, Member& member, MonoTime when);
  void session_ended(const std::string& group_id, const std::string& member_id);
  ScopedTimer watch_pending_id(const std::string& group_id, const std::string& member_id,
                               std::int32_t session_timeout_ms);
  void pending_ended(const std::string& group_id, const std::string& member_id);

  // ---- the log ----
  Task<kafka::KafkaError> write(GroupPtr group, metadata::Command command);
  Task<void> write_assignment(GroupPtr group);
  Task<void> write_empty(GroupPtr group);

  // ---- syncs (sync.cc) ----
  struct Syncer {
    std::string group_id;
    std::string member_id;
    std::int32_t generation = 0;
    std::optional<std::string> instance_id;
    std::optional<std::string> protocol_type;
    std::optional<std::string> protocol_name;
    std::map<std::string, Slice> assignments;
    std::shared_ptr<const void> reservation;
  };
  Task<kafka::SyncGroupResponse> do_sync(Syncer syncer);
  [[nodiscard]] static kafka::KafkaError check_sync(const Group& group, const Syncer& syncer);
  kafka::KafkaError set_assignments(Group& group, std::map<std::string, Slice>& assignments);
  Task<PendingCommit> begin_commit(const kafka::OffsetCommitRequest* request, std::int16_t version);
  kafka::KafkaError check_commit(const GroupPtr& group, const kafka::OffsetCommitRequest& request,
                                 std::int16_t version);
  kafka::KafkaError leave_one(const GroupPtr& group, std::string member_id,
                              std::optional<std::string> instance_id);
  Task<kafka::KafkaError> remove_group(std::string group_id);

  // ---- expiry (expiry.cc) ----
  struct Verdict;
  [[nodiscard]] Verdict judge(const std::string& group_id, TimestampMs now) const;
  Task<void> expire_in(std::string group_id, TimestampMs now);
  Task<bool> expire_group_offsets(GroupPtr group, metadata::OffsetDelete command);

  metadata::Coordinator& coordinator_;
  const BrokerId self_;
  Clock& clock_;
  Executor executor_;
  GroupLimits limits_;
  Rng rng_;
  ByteBudget member_memory_;
  std::unordered_map<std::string, GroupPtr> groups_;                      // the claimed ones
  std::unordered_map<std::string, GroupPtr> drafts_;                      // see draft()
  std::unordered_map<std::string, std::vector<OneShot<Held>>> claiming_;  // who waits for a claim
  Notifier commit_ended_;
  std::atomic<LeaderEpoch> seen_membership_ = -1;
  bool is_started_ = false;
  bool is_stopped_ = false;
  // Timers of sessions may fire after this is gone: they look here first.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  TaskGroup tasks_;
};

}  // namespace weir::groups

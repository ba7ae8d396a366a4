// A consumer group of the classic protocol: its members, state and generation, and what follows
// from them. Data and rules without time, log or network; the GroupCoordinator drives it, on its
// one executor. States and rules as in Kafka (kafka-protocol.md cases 74 to 81, KIP-345 for static
// members).
#pragma once
#include "base/bytes.h"
#include "base/units.h"
#include "kafka/protocol/errors.h"
#include "kafka/protocol/messages/join_group.h"
#include "kafka/protocol/messages/sync_group.h"
#include "metadata/state/commands.h"
#include "metadata/state/image.h"
#include "runtime/byte_budget.h"
#include "runtime/oneshot.h"
#include "runtime/scoped_timer.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::groups {

enum class GroupState : std::uint8_t {
  kEmpty,                // no members; perhaps committed offsets
  kPreparingRebalance,   // members join
  kCompletingRebalance,  // all joined; the leader's assignment is awaited
  kStable,
  kDead,  // deleted, or another broker's
};

// As the tools of Kafka print it.
[[nodiscard]] std::string_view to_string(GroupState state);

struct MemberProtocol {
  std::string name;
  Slice metadata;
};

using JoinReply = OneShot<kafka::JoinGroupResponse>;
using SyncReply = OneShot<kafka::SyncGroupResponse>;

struct Member {
  std::string id;
  std::optional<std::string> instance_id;  // of a static member
  std::string client_id;
  std::string client_host;
  std::int32_t session_timeout_ms = 0;
  std::int32_t rebalance_timeout_ms = 0;
  std::vector<MemberProtocol> protocols;  // in its order of preference
  Slice assignment;

  std::optional<JoinReply> joining;  // it waits for the rebalance to go on
  std::optional<SyncReply> syncing;  // it waits for its assignment
  bool is_new = false;               // it has not been in a generation yet
  bool has_synced = false;           // in this generation
  MonoTime expires;                  // without a sign of life
  ScopedTimer session_timer;         // looks whether that time has come
  ByteBudget::Reservation memory;    // its place among all members

  [[nodiscard]] bool is_static() const { return instance_id.has_value(); }
  // It waits for an answer, which counts as a sign of life.
  [[nodiscard]] bool is_waiting() const { return joining.has_value() || syncing.has_value(); }
  [[nodiscard]] Slice metadata_for(std::string_view protocol) const;
};

// What a member takes of memory, with the wait for a rebalance and what the log's state keeps of
// it: one whose ids, client and group have names of so many bytes, and with these protocols.
[[nodiscard]] ByteCount member_bytes(std::size_t names,
                                     const std::vector<MemberProtocol>& protocols);

[[nodiscard]] bool same_protocols(const std::vector<MemberProtocol>& a,
                                  const std::vector<MemberProtocol>& b);

class Group {
 public:
  explicit Group(std::string id) : id_(std::move(id)) {}

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] GroupState state() const { return state_; }
  [[nodiscard]] bool is(GroupState state) const { return state_ == state; }
  void set_state(GroupState state);
  [[nodiscard]] GroupState previous_state() const { return previous_state_; }

  [[nodiscard]] std::int32_t generation() const { return generation_; }
  [[nodiscard]] const std::string& protocol_type() const { return protocol_type_; }
  [[nodiscard]] const std::string& protocol() const { return protocol_; }
  [[nodiscard]] const std::string& leader() const { return leader_; }

  // ---- members ----
  [[nodiscard]] std::map<std::string, Member>& members() { return members_; }
  [[nodiscard]] const std::map<std::string, Member>& members() const { return members_; }
  [[nodiscard]] Member* find(std::string_view member_id);
  // The id of the member with this instance id.
  [[nodiscard]] std::optional<std::string> static_member(std::string_view instance_id) const;
  Member& add(Member member, std::string_view protocol_type);
  void remove(const std::string& member_id);
  void set_protocols(Member& member, std::vector<MemberProtocol> protocols);
  // As member_bytes() tells for a member that is in.
  [[nodiscard]] ByteCount bytes_of(const Member& member) const;
  // What all assignments take of memory.
  [[nodiscard]] ByteCount assignments_bytes() const;
  // Gives a static member that came back a new id. Those that still wait under the old one are told
  // FENCED_INSTANCE_ID.
  Member& rename(const std::string& old_id, const std::string& new_id);
  // Ids that were handed out with MEMBER_ID_REQUIRED and have not joined yet.
  struct PendingId {
    ByteBudget::Reservation memory;
    ScopedTimer lapse;
  };
  using PendingIds = std::map<std::string, PendingId, std::less<>>;
  [[nodiscard]] PendingIds& pending_ids() { return pending_ids_; }

  // NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
  [[nodiscard]] kafka::KafkaError check_member(
      std::string_view member_id, const std::optional<std::string_view>& instance_id) const;
  // Whether that is one that was handed out and has not been used.
  [[nodiscard]] bool is_pending(std::string_view member_id) const {
    return pending_ids_.contains(member_id);
  }
  // Whether a member with these protocols may be in the group.
  [[nodiscard]] bool supports(std::string_view protocol_type,
                              const std::vector<MemberProtocol>& protocols,
                              std::string_view except_member) const;

  // ---- rebalances ----
  // Everybody has joined and nobody is still expected to.
  [[nodiscard]] bool has_all_joined() const;
  [[nodiscard]] std::size_t joining_count() const;
  // The greatest of the members' rebalance timeouts.
  [[nodiscard]] Duration rebalance_timeout() const;
  // What the log takes of this generation: the members' names, subscriptions and assignments.
  [[nodiscard]] ByteCount logged_bytes() const;
  // The protocol that every member has and most prefer.
  [[nodiscard]] std::string choose_protocol() const;
  // A leader that has joined; false: none of the members has.
  bool elect_joined_leader();
  // Starts the next generation with those that are members now; without members the group is empty.
  void start_generation();
  // What the leader gets about all members.
  [[nodiscard]] std::vector<kafka::JoinGroupResponse::Member> described_members() const;
  [[nodiscard]] kafka::JoinGroupResponse joined(const Member& member) const;

  // ---- the metadata log ----
  // Under which claim the group's commands are made; -1: not claimed.
  metadata::Position claim = -1;
  // Whether the log has the group as this image, members and all.
  [[nodiscard]] bool is_logged_as(const metadata::GroupImage& image) const;
  [[nodiscard]] metadata::GroupCommit commit_command() const;
  [[nodiscard]] static std::shared_ptr<Group> from_image(const metadata::GroupImage& image);

  // Topics that the members' subscriptions name; nothing when the group is no consumer's or they
  // cannot be read.
  [[nodiscard]] std::optional<std::set<std::string>> subscribed_topics() const;

  // ---- what the coordinator keeps for it ----
  std::shared_ptr<Timer>
      rebalance_timer;            // the end of the join phase, or of the wait for the leader
  bool new_member_added = false;  // since the last look during the initial delay
  ByteBudget::Reservation assignments_memory;  // of what the members are assigned
  // Commits of offsets that were put in line for the log, and those of them that have an outcome.
  std::uint64_t commits_begun = 0;
  std::uint64_t commits_ended = 0;
  std::uint64_t commits_overdue = 0;  // answered before they have one

 private:
  void count_protocols(const Member& member, std::ptrdiff_t change);
  [[nodiscard]] std::size_t members_with(std::string_view protocol) const;

  std::string id_;
  GroupState state_ = GroupState::kEmpty;
  GroupState previous_state_ = GroupState::kEmpty;
  std::int32_t generation_ = 0;
  std::string protocol_type_;
  std::string protocol_;
  std::string leader_;
  std::map<std::string, Member> members_;
  std::map<std::string, std::string, std::less<>> static_members_;  // instance id to member id
  // How many members have each protocol: comparing the members' lists would take the square of
  // their length.
  std::map<std::string, std::size_t, std::less<>> protocol_members_;
  PendingIds pending_ids_;
};

}  // namespace weir::groups

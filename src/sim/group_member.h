// A member of a consumer group: joins, gets its part of the partitions, reads and commits, and does
// what real ones do to a group: it leaves, comes back, naps beyond its session, and its commits
// arrive late.
#pragma once
#include "sim/clients.h"

namespace weir::sim {

class GroupMember {
 public:
  GroupMember(ClientParts parts, std::string group, int number);

  void start() { tasks_.spawn(machine_.executor(), run()); }
  // From now on it stays, wide awake.
  void calm_down() { is_calm_ = true; }
  void stop() { tasks_.stop(); }
  [[nodiscard]] bool done() const { return tasks_.running() == 0; }
  // For a report.
  [[nodiscard]] const std::string& doing() const { return doing_; }

 private:
  Task<void> run();
  Task<bool> join();
  Task<bool> sync();
  Task<bool> load_offsets();
  Task<void> work();
  // True: it is still a member.
  Task<bool> heartbeat();
  Task<void> leave();
  void commit();
  Task<void> send_commit(BrokerId coordinator, std::int32_t generation, std::string member,
                         std::vector<std::pair<Where, Offset>> offsets);
  void forget_membership();
  void tell_of_join();
  [[nodiscard]] std::optional<std::string_view> instance() const;
  std::vector<std::byte> encode_assignment(std::size_t member, std::size_t members) const;

  // A static member as it was before it came back.
  struct Ghost {
    std::string member;
    std::int32_t generation = -1;
  };

  ClientParts parts_;
  const std::string group_id_;
  const std::string name_;
  Machine& machine_;
  Rng rng_;
  const std::string instance_;  // empty: no static member
  Link coordinator_;
  Link link_;
  Reader reader_;
  std::vector<Where> partitions_;  // of the topic
  std::string member_;
  std::optional<Ghost> ghost_;
  std::int32_t generation_ = -1;
  std::vector<std::string> members_;  // where it is the leader
  std::vector<Where> assigned_;
  bool is_calm_ = false;
  bool is_committing_ = false;
  bool has_no_coordinator_ = false;
  std::string doing_ = "starts";
  TaskGroup tasks_;
};

}  // namespace weir::sim

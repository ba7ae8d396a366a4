#include "groups/group.h"

#include "groups/subscription.h"

#include <algorithm>

namespace weir::groups {

using kafka::KafkaError;

namespace {

// Measured, with allocators' and containers' parts, and rounded up: a member whose join waits in a
// group of its own; how often its names stand somewhere (the group's and the log's state, keys,
// timers, the answer under way); a protocol without its texts; copies of the chosen protocol's
// metadata, and of an assignment, in the log's state and on their way there.
constexpr ByteCount kMemberBytes = 8_KiB;
constexpr ByteCount kNameCopies = 8;
constexpr ByteCount kProtocolBytes = 256;
constexpr ByteCount kLoggedCopies = 3;

std::set<std::string_view> names_of(const std::vector<MemberProtocol>& protocols) {
  std::set<std::string_view> names;
  for (const MemberProtocol& protocol : protocols) names.insert(protocol.name);
  return names;
}

}  // namespace

std::string_view to_string(GroupState state) {
  switch (state) {
    case GroupState::kEmpty:
      return "Empty";
    case GroupState::kPreparingRebalance:
      return "PreparingRebalance";
    case GroupState::kCompletingRebalance:
      return "CompletingRebalance";
    case GroupState::kStable:
      return "Stable";
    case GroupState::kDead:
      return "Dead";
  }
  return "Dead";
}

Slice Member::metadata_for(std::string_view protocol) const {
  auto at = std::ranges::find(protocols, protocol, &MemberProtocol::name);
  return at == protocols.end() ? Slice{} : at->metadata;
}

ByteCount member_bytes(std::size_t names, const std::vector<MemberProtocol>& protocols) {
  ByteCount bytes = kMemberBytes + kNameCopies * names;
  ByteCount largest = 0;
  for (const MemberProtocol& one : protocols) {
    bytes += kProtocolBytes + 2 * one.name.size() + one.metadata.size();
    largest = std::max<ByteCount>(largest, one.metadata.size());
  }
  return bytes + kLoggedCopies * largest;
}

bool same_protocols(const std::vector<MemberProtocol>& a, const std::vector<MemberProtocol>& b) {
  return std::ranges::equal(a, b, [](const MemberProtocol& x, const MemberProtocol& y) {
    return x.name == y.name && std::ranges::equal(x.metadata.bytes(), y.metadata.bytes());
  });
}

void Group::set_state(GroupState state) {
  previous_state_ = state_;
  state_ = state;
}

Member* Group::find(std::string_view member_id) {
  auto at = members_.find(std::string(member_id));
  return at == members_.end() ? nullptr : &at->second;
}

std::optional<std::string> Group::static_member(std::string_view instance_id) const {
  auto at = static_members_.find(instance_id);
  if (at == static_members_.end()) return std::nullopt;
  return at->second;
}

Member& Group::add(Member member, std::string_view protocol_type) {
  if (members_.empty()) protocol_type_ = std::string(protocol_type);
  if (leader_.empty()) leader_ = member.id;
  if (member.instance_id) static_members_[*member.instance_id] = member.id;
  pending_ids_.erase(member.id);
  auto [at, is_new] = members_.try_emplace(member.id);
  if (!is_new) count_protocols(at->second, -1);
  count_protocols(member, 1);
  at->second = std::move(member);
  return at->second;
}

void Group::count_protocols(const Member& member, std::ptrdiff_t change) {
  // A name that stands twice in a member's list counts once.
  for (std::string_view name : names_of(member.protocols)) {
    auto at = protocol_members_.try_emplace(std::string(name)).first;
    at->second += static_cast<std::size_t>(change);
    if (at->second == 0) protocol_members_.erase(at);
  }
}

std::size_t Group::members_with(std::string_view protocol) const {
  auto at = protocol_members_.find(protocol);
  return at == protocol_members_.end() ? 0 : at->second;
}

void Group::set_protocols(Member& member, std::vector<MemberProtocol> protocols) {
  count_protocols(member, -1);
  member.protocols = std::move(protocols);
  count_protocols(member, 1);
}

ByteCount Group::bytes_of(const Member& member) const {
  std::size_t names = id_.size() + member.id.size() + member.instance_id.value_or("").size() +
                      member.client_id.size() + member.client_host.size();
  return member_bytes(names, member.protocols);
}

void Group::remove(const std::string& member_id) {
  pending_ids_.erase(member_id);
  auto at = members_.find(member_id);
  if (at == members_.end()) return;
  if (at->second.instance_id) static_members_.erase(*at->second.instance_id);
  count_protocols(at->second, -1);
  members_.erase(at);
  if (leader_ == member_id) leader_ = members_.empty() ? "" : members_.begin()->first;
}

Member& Group::rename(const std::string& old_id, const std::string& new_id) {
  Member member = std::move(members_.at(old_id));
  members_.erase(old_id);
  if (member.joining) {
    kafka::JoinGroupResponse fenced;
    fenced.error_code = KafkaError::kFencedInstanceId;
    fenced.member_id = old_id;
    member.joining->set(std::move(fenced));
    member.joining.reset();
  }
  if (member.syncing) {
    kafka::SyncGroupResponse fenced;
    fenced.error_code = KafkaError::kFencedInstanceId;
    member.syncing->set(std::move(fenced));
    member.syncing.reset();
  }
  member.id = new_id;
  member.session_timer.cancel();
  if (leader_ == old_id) leader_ = new_id;
  static_members_[*member.instance_id] = new_id;
  return members_.insert_or_assign(new_id, std::move(member)).first->second;
}

KafkaError Group::check_member(std::string_view member_id,
                               const std::optional<std::string_view>& instance_id) const {
  if (instance_id) {
    auto current = static_member(*instance_id);
    if (!current) return KafkaError::kUnknownMemberId;
    if (*current != member_id) return KafkaError::kFencedInstanceId;
  }
  return members_.contains(std::string(member_id)) ? KafkaError::kNone
                                                   : KafkaError::kUnknownMemberId;
}

bool Group::supports(std::string_view protocol_type, const std::vector<MemberProtocol>& protocols,
                     std::string_view except_member) const {
  if (protocol_type.empty() || protocols.empty()) return false;
  if (members_.empty()) return true;
  if (protocol_type != protocol_type_) return false;
  auto except = members_.find(std::string(except_member));
  const bool is_in = except != members_.end();
  const std::size_t others = members_.size() - (is_in ? 1 : 0);
  const auto own = is_in ? names_of(except->second.protocols) : std::set<std::string_view>{};
  return std::ranges::any_of(protocols, [&](const MemberProtocol& candidate) {
    return members_with(candidate.name) - (own.contains(candidate.name) ? 1U : 0U) == others;
  });
}

bool Group::has_all_joined() const {
  return pending_ids_.empty() && joining_count() == members_.size();
}

std::size_t Group::joining_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      members_, [](const auto& entry) { return entry.second.joining.has_value(); }));
}

Duration Group::rebalance_timeout() const {
  std::int32_t longest = 0;
  for (const auto& [id, member] : members_)
    longest = std::max(longest, member.rebalance_timeout_ms);
  return std::chrono::milliseconds(longest);
}

ByteCount Group::assignments_bytes() const {
  ByteCount bytes = 0;
  for (const auto& [id, member] : members_) bytes += member.assignment.size();
  return (1 + kLoggedCopies) * bytes;
}

ByteCount Group::logged_bytes() const {
  ByteCount bytes = 0;
  for (const auto& [id, member] : members_) {
    bytes += id.size() + member.instance_id.value_or("").size() + member.client_id.size() +
             member.client_host.size() + member.metadata_for(protocol_).size() +
             member.assignment.size();
  }
  return bytes;
}

std::string Group::choose_protocol() const {
  // Each member votes for the first of its protocols that all have; the name decides between
  // equals.
  std::map<std::string, std::size_t> votes;
  auto all_have = [&](const MemberProtocol& candidate) {
    return members_with(candidate.name) == members_.size();
  };
  for (const auto& [id, member] : members_) {
    auto preferred = std::ranges::find_if(member.protocols, all_have);
    if (preferred != member.protocols.end()) ++votes[preferred->name];
  }
  if (votes.empty()) return {};
  return std::ranges::max_element(votes, {}, [](const auto& entry) { return entry.second; })->first;
}

bool Group::elect_joined_leader() {
  Member* current = find(leader_);
  if (current != nullptr && current->joining) return true;
  auto joined = std::ranges::find_if(
      members_, [](const auto& entry) { return entry.second.joining.has_value(); });
  if (joined == members_.end()) return false;
  leader_ = joined->first;
  return true;
}

void Group::start_generation() {
  ++generation_;
  if (members_.empty()) {
    protocol_.clear();
    leader_.clear();
    assignments_memory.reset();
    set_state(GroupState::kEmpty);
    return;
  }
  protocol_ = choose_protocol();
  for (auto& [id, member] : members_) {
    member.has_synced = false;
    member.is_new = false;
  }
  set_state(GroupState::kCompletingRebalance);
}

std::vector<kafka::JoinGroupResponse::Member> Group::described_members() const {
  std::vector<kafka::JoinGroupResponse::Member> out;
  for (const auto& [id, member] : members_) {
    out.push_back({.member_id = id,
                   .group_instance_id = member.instance_id,
                   .metadata = member.metadata_for(protocol_)});
  }
  return out;
}

kafka::JoinGroupResponse Group::joined(const Member& member) const {
  kafka::JoinGroupResponse response;
  response.generation_id = generation_;
  response.protocol_type = protocol_type_;
  response.protocol_name = protocol_;
  response.leader = leader_;
  response.member_id = member.id;
  if (member.id == leader_) response.members = described_members();
  return response;
}

metadata::GroupCommit Group::commit_command() const {
  metadata::GroupCommit command;
  command.group = id_;
  command.claim = claim;
  command.protocol_type = protocol_type_;
  command.generation = generation_;
  command.protocol = protocol_;
  command.leader = leader_;
  auto copy = [](Bytes bytes) { return std::vector<std::byte>(bytes.begin(), bytes.end()); };
  for (const auto& [id, member] : members_) {
    command.members.push_back({.id = id,
                               .instance_id = member.instance_id,
                               .client_id = member.client_id,
                               .client_host = member.client_host,
                               .session_timeout_ms = member.session_timeout_ms,
                               .rebalance_timeout_ms = member.rebalance_timeout_ms,
                               .subscription = copy(member.metadata_for(protocol_).bytes()),
                               .assignment = copy(member.assignment.bytes())});
  }
  return command;
}

bool Group::is_logged_as(const metadata::GroupImage& image) const {
  return generation_ == image.generation && members_.empty() == image.members->empty();
}

std::shared_ptr<Group> Group::from_image(const metadata::GroupImage& image) {
  auto group = std::make_shared<Group>(image.id);
  group->claim = image.claim;
  group->generation_ = image.generation;
  group->protocol_type_ = image.protocol_type;
  for (const metadata::GroupMember& stored : *image.members) {
    Member member;
    member.id = stored.id;
    member.instance_id = stored.instance_id;
    member.client_id = stored.client_id;
    member.client_host = stored.client_host;
    member.session_timeout_ms = stored.session_timeout_ms;
    member.rebalance_timeout_ms = stored.rebalance_timeout_ms;
    member.protocols = {
        {.name = image.protocol, .metadata = Slice::copy_of(Bytes(stored.subscription))}};
    member.assignment = Slice::copy_of(Bytes(stored.assignment));
    member.has_synced = true;
    group->add(std::move(member), image.protocol_type);
  }
  group->protocol_ = image.protocol;
  group->leader_ = image.leader;
  group->state_ = group->members_.empty() ? GroupState::kEmpty : GroupState::kStable;
  group->previous_state_ = group->state_;
  return group;
}

std::optional<std::set<std::string>> Group::subscribed_topics() const {
  if (protocol_type_ != kConsumerProtocolType) return std::nullopt;
  std::set<std::string> topics;
  for (const auto& [id, member] : members_) {
    auto subscription = subscribed_topics_of(member.metadata_for(protocol_).bytes());
    if (!subscription) return std::nullopt;
    topics.insert(subscription->begin(), subscription->end());
  }
  return topics;
}

}  // namespace weir::groups

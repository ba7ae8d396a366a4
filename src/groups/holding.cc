// Which groups this broker coordinates: it takes them over by a claim in the metadata log, and lets
// go of those that have another owner.
#include "base/planted.h"
#include "groups/group_coordinator.h"
#include "metadata/live_owner.h"
#include "runtime/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

namespace weir::groups {

using kafka::KafkaError;

namespace {

constexpr std::size_t kParallelGroups = 64;
constexpr Duration kTakeOverRetry = std::chrono::seconds(1);

}  // namespace

bool GroupCoordinator::is_owner(std::string_view group_id) const {
  return metadata::live_owner(*coordinator_.image(), group_id) == self_;
}

GroupCoordinator::GroupPtr GroupCoordinator::held(std::string_view group_id) const {
  auto at = groups_.find(std::string(group_id));
  return at == groups_.end() ? nullptr : at->second;
}

GroupCoordinator::GroupPtr GroupCoordinator::look_at(const std::string& group_id) const {
  if (GroupPtr group = held(group_id)) return group;
  auto image = coordinator_.group(group_id);
  return image ? Group::from_image(*image) : draft(group_id);
}

GroupCoordinator::GroupPtr GroupCoordinator::draft(const std::string& group_id) const {
  auto at = drafts_.find(group_id);
  return at == drafts_.end() ? nullptr : at->second;
}

void GroupCoordinator::drop_if_bare(const GroupPtr& group) {
  if (group && group->pending_ids().empty() && draft(group->id()) == group)
    drafts_.erase(group->id());
}

// This broker may not know yet that it is the owner, so the log is asked before a client is sent
// away.
Task<KafkaError> GroupCoordinator::check_owner(std::string group_id) {
  if (is_owner(group_id)) co_return KafkaError::kNone;
  if (planted(Bug::kTwoGroupOwners) && held(group_id)) co_return KafkaError::kNone;
  if (!co_await coordinator_.catch_up()) co_return KafkaError::kCoordinatorNotAvailable;
  co_return is_owner(group_id) ? KafkaError::kNone : KafkaError::kNotCoordinator;
}

// What is found after the end of this coordinator would be waited with for ever: nobody answers who
// waits in a group any more.
Task<GroupCoordinator::Held> GroupCoordinator::hold(std::string group_id, Missing missing) {
  Held found{KafkaError::kCoordinatorNotAvailable, nullptr};
  if (!is_stopped_) found = co_await find_or_claim(std::move(group_id), missing);
  if (is_stopped_) co_return Held{KafkaError::kCoordinatorNotAvailable, nullptr};
  co_return found;
}

Task<GroupCoordinator::Held> GroupCoordinator::find_or_claim(std::string group_id,
                                                             Missing missing) {
  KafkaError error = co_await check_owner(group_id);
  if (error != KafkaError::kNone) co_return Held{error, nullptr};
  if (GroupPtr group = held(group_id)) co_return Held{KafkaError::kNone, group};
  if (missing == Missing::kIsNone && !coordinator_.group(group_id)) {
    // The owner before may have made it a moment ago.
    if (!co_await coordinator_.catch_up())
      co_return Held{KafkaError::kCoordinatorNotAvailable, nullptr};
    if (GroupPtr group = held(group_id)) co_return Held{KafkaError::kNone, group};
    if (!coordinator_.group(group_id)) co_return Held{};
  }
  co_return co_await claim(std::move(group_id));
}

// Callers that come together share one claim.
Task<GroupCoordinator::Held> GroupCoordinator::claim(std::string group_id) {
  auto [at, is_first] = claiming_.try_emplace(group_id);
  if (!is_first) {
    OneShot<Held> done;
    at->second.push_back(done);
    co_return co_await done.wait();
  }
  Held result = co_await claim_once(group_id);
  auto waiting = claiming_.extract(group_id);
  for (OneShot<Held>& waiter : waiting.mapped()) waiter.set(result);
  co_return result;
}

Task<GroupCoordinator::Held> GroupCoordinator::claim_once(const std::string& group_id) {
  auto claimed = co_await coordinator_.submit(metadata::GroupClaim{.group = group_id});
  if (!claimed) {
    log::warn("group.claim.failed", {{"group", group_id}, {"error", claimed.error()}});
    co_return Held{KafkaError::kCoordinatorNotAvailable, nullptr};
  }
  if (claimed->error != KafkaError::kNone) co_return Held{claimed->error, nullptr};
  if (is_stopped_) co_return Held{KafkaError::kCoordinatorNotAvailable, nullptr};
  // From the claim on nobody else changes the group: what the image has is what there is.
  auto image = coordinator_.group(group_id);
  if (!image || image->claim != claimed->value)
    co_return Held{KafkaError::kNotCoordinator, nullptr};
  GroupPtr group = Group::from_image(*image);
  groups_[group_id] = group;
  if (auto begun = drafts_.extract(group_id))
    group->pending_ids() = std::move(begun.mapped()->pending_ids());
  // They are members, whether there is room for them here or not.
  group->assignments_memory = member_memory_.try_reserve(group->assignments_bytes());
  for (auto& [member_id, member] : group->members()) {
    member.memory = member_memory_.try_reserve(group->bytes_of(member));
    keep_alive(group, member);
  }
  co_return Held{KafkaError::kNone, group};
}

void GroupCoordinator::forget(const GroupPtr& group) {
  if (group->rebalance_timer) group->rebalance_timer->cancel();
  for (auto& [id, member] : group->members()) {
    if (!member.joining) continue;
    kafka::JoinGroupResponse response;
    response.error_code = KafkaError::kNotCoordinator;
    member.joining->set(std::move(response));
    member.joining.reset();
  }
  fail_syncing(group, KafkaError::kNotCoordinator);
  group->set_state(GroupState::kDead);
  auto at = groups_.find(group->id());
  if (at != groups_.end() && at->second == group) groups_.erase(at);
}

void GroupCoordinator::on_image_changed() {
  LeaderEpoch membership = coordinator_.image()->membership;
  if (seen_membership_.exchange(membership) == membership) return;
  boost::asio::post(executor_, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) settle_ownership();
  });
}

void GroupCoordinator::on_groups_changed(std::span<const std::string> groups) {
  boost::asio::post(executor_, [this, alive = std::weak_ptr(alive_),
                                ids = std::vector<std::string>(groups.begin(), groups.end())] {
    if (alive.expired() || is_stopped_) return;
    for (const std::string& id : ids) let_go_if_claimed(id);
  });
}

// Another broker, or another life of this one, claimed it since, or it was deleted.
void GroupCoordinator::let_go_if_claimed(const std::string& group_id) {
  GroupPtr group = held(group_id);
  auto image = coordinator_.group(group_id);
  if (!group || (image && image->claim <= group->claim)) return;
  if (planted(Bug::kTwoGroupOwners)) return;
  if (image) log::info("group.lost", {{"group", group_id}, {"owner", image->owner}});
  forget(group);
}

// The live brokers changed: what has another owner now is let go, and what is ours and has members
// is taken over, so that the sessions of those that do not come back end.
void GroupCoordinator::settle_ownership() {
  if (is_stopped_ || !is_started_ || planted(Bug::kTwoGroupOwners)) return;
  std::vector<GroupPtr> lost;
  for (const auto& [id, group] : groups_) {
    if (!is_owner(id)) lost.push_back(group);
  }
  for (const GroupPtr& group : lost) forget(group);
  std::erase_if(drafts_, [this](const auto& entry) { return !is_owner(entry.first); });
  if (!lost.empty()) log::info("groups.handed.over", {{"groups", lost.size()}});
  tasks_.spawn(executor_, take_over_until_done());
}

Task<void> GroupCoordinator::take_over_until_done() {
  LeaderEpoch membership = coordinator_.image()->membership;
  while (!co_await take_over()) {
    if (!co_await tasks_.sleep(clock_, kTakeOverRetry)) co_return;
    // A later change has a task of its own.
    if (coordinator_.image()->membership != membership) co_return;
  }
}

Task<Status> GroupCoordinator::take_over() {
  std::vector<std::string> ids;
  for (std::string& id : coordinator_.group_ids()) {
    auto image = coordinator_.group(id);
    bool is_ours = image && !image->members->empty() && is_owner(id) && !held(id);
    if (is_ours) ids.push_back(std::move(id));
  }
  const std::size_t count = ids.size();
  std::size_t failed = 0;
  auto take = [](GroupCoordinator* self, std::string id, std::size_t* failures) -> Task<void> {
    Held taken = co_await self->hold(std::move(id), Missing::kIsNone);
    if (taken.error == KafkaError::kCoordinatorNotAvailable) ++*failures;
  };
  co_await for_each_group(std::move(ids),
                          [&](std::string id) { return take(this, std::move(id), &failed); });
  if (count > 0) log::info("groups.taken.over", {{"groups", count - failed}, {"failed", failed}});
  if (failed == 0) co_return Status{};
  co_return fail(ErrorCode::kUnavailable, fmt::format("cannot claim {} groups", failed));
}

Task<void> GroupCoordinator::for_each_group(std::vector<std::string> ids,
                                            std::function<Task<void>(std::string)> act) {
  for (std::size_t next = 0; next < ids.size() && !is_stopped_;) {
    TaskGroup together;
    for (std::size_t i = 0; i < kParallelGroups && next < ids.size(); ++i)
      together.spawn(executor_, act(std::move(ids[next++])));
    co_await together.join();
  }
}

}  // namespace weir::groups

#include "groups/group_coordinator.h"

#include "kafka/error_map.h"
#include "runtime/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

namespace weir::groups {

using kafka::KafkaError;

GroupCoordinator::GroupCoordinator(metadata::Coordinator& coordinator, BrokerId self, Clock& clock,
                                   Executor executor, GroupLimits limits, Rng rng)
    : coordinator_(coordinator),
      self_(self),
      clock_(clock),
      executor_(std::move(executor)),
      limits_(limits),
      rng_(rng),
      member_memory_(limits.members_max_bytes) {}

GroupCoordinator::~GroupCoordinator() = default;

Task<Status> GroupCoordinator::start() {
  auto begin = [](GroupCoordinator* self) -> Task<Status> {
    self->is_started_ = true;
    co_return co_await self->take_over();
  };
  Status started =
      co_await boost::asio::co_spawn(executor_, begin(this), boost::asio::use_awaitable);
  WEIR_CO_CHECK(started);
  auto expiry = [](GroupCoordinator* self) -> Task<void> {
    while (co_await self->tasks_.sleep(self->clock_, self->limits_.offsets_check_interval))
      co_await self->expire_offsets();
  };
  tasks_.spawn(executor_, expiry(this));
  co_return Status{};
}

Task<void> GroupCoordinator::stop() {
  auto end = [](GroupCoordinator* self) -> Task<void> {
    self->is_stopped_ = true;
    for (auto& [id, group] : self->groups_) {
      if (group->rebalance_timer) group->rebalance_timer->cancel();
      self->fail_syncing(group, KafkaError::kCoordinatorNotAvailable);
      for (auto& [member_id, member] : group->members()) {
        if (!member.joining) continue;
        kafka::JoinGroupResponse response;
        response.error_code = KafkaError::kCoordinatorNotAvailable;
        member.joining->set(std::move(response));
        member.joining.reset();
      }
    }
    co_return;
  };
  co_await boost::asio::co_spawn(executor_, end(this), boost::asio::use_awaitable);
  tasks_.stop();
  co_await tasks_.join();
}

std::string GroupCoordinator::new_member_id(const std::optional<std::string>& instance_id,
                                            const std::string& client_id) {
  std::uint64_t high = rng_.next();
  return fmt::format("{}-{}", instance_id.value_or(client_id),
                     Uuid::from_random(high, rng_.next()).to_hex());
}

Task<KafkaError> GroupCoordinator::write(GroupPtr group, metadata::Command command) {
  auto written = co_await coordinator_.submit(std::move(command));
  if (!written) {
    log::warn("group.write.failed", {{"group", group->id()}, {"error", written.error()}});
    co_return KafkaError::kCoordinatorNotAvailable;
  }
  if (written->error == KafkaError::kNotCoordinator) forget(group);
  co_return written->error;
}

// ---- sessions ----

void GroupCoordinator::keep_alive(const GroupPtr& group, Member& member) {
  MonoTime now = clock_.now();
  Duration timeout = std::chrono::milliseconds(member.session_timeout_ms);
  member.expires = now + timeout;
  // One timer per member: it looks again at the time that then stands.
  if (!member.session_timer) watch_session(group, member, member.expires);
}

void GroupCoordinator::watch_session(const GroupPtr& group, Member& member, MonoTime when) {
  member.session_timer = ScopedTimer(clock_.call_at(
      when, executor_,
      [this, alive = std::weak_ptr(alive_), group_id = group->id(), member_id = member.id] {
        if (!alive.expired()) session_ended(group_id, member_id);
      }));
}

void GroupCoordinator::session_ended(const std::string& group_id, const std::string& member_id) {
  if (is_stopped_) return;
  auto at = groups_.find(group_id);
  if (at == groups_.end()) return;
  GroupPtr group = at->second;
  Member* member = group->find(member_id);
  if (member == nullptr) return;
  member->session_timer.cancel();
  if (member->is_waiting()) {
    // Whoever waits for us is alive.
    keep_alive(group, *member);
  } else if (clock_.now() < member->expires) {
    watch_session(group, *member, member->expires);
  } else {
    log::info("group.member.expired", {{"group", group_id}, {"member", member_id}});
    remove_member(group, member_id);
    member_left(group);
  }
}

ScopedTimer GroupCoordinator::watch_pending_id(const std::string& group_id,
                                               const std::string& member_id,
                                               std::int32_t session_timeout_ms) {
  const Duration most = limits_.new_member_join_timeout;
  return ScopedTimer(
      clock_.call_after(std::min<Duration>(std::chrono::milliseconds(session_timeout_ms), most),
                        executor_, [this, alive = std::weak_ptr(alive_), group_id, member_id] {
                          if (!alive.expired() && !is_stopped_) pending_ended(group_id, member_id);
                        }));
}

void GroupCoordinator::pending_ended(const std::string& group_id, const std::string& member_id) {
  GroupPtr group = held(group_id);
  if (!group) group = draft(group_id);
  if (!group || group->pending_ids().erase(member_id) == 0) return;
  drop_if_bare(group);
  member_left(group);
}

}  // namespace weir::groups

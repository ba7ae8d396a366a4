// ListGroups, DescribeGroups and DeleteGroups.
#include "groups/group_coordinator.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::groups {

using kafka::DeleteGroupsRequest;
using kafka::DeleteGroupsResponse;
using kafka::DescribeGroupsRequest;
using kafka::DescribeGroupsResponse;
using kafka::KafkaError;
using kafka::ListGroupsRequest;
using kafka::ListGroupsResponse;

namespace {

constexpr std::int16_t kGroupNotFoundVersion = 6;
constexpr std::string_view kClassicType = "classic";

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b,
                            [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

// An empty filter lets everything through.
bool passes(const std::vector<std::string>& filter, std::string_view text) {
  return filter.empty() || std::ranges::any_of(filter, [&](const std::string& wanted) {
           return equals_ignoring_case(wanted, text);
         });
}

std::vector<std::string> owned(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

DescribeGroupsResponse::Group describe_one(const Group& group) {
  DescribeGroupsResponse::Group out;
  out.group_id = group.id();
  out.group_state = to_string(group.state());
  out.protocol_type = group.protocol_type();
  bool is_stable = group.is(GroupState::kStable);
  if (is_stable) out.protocol_data = group.protocol();
  for (const auto& [id, member] : group.members()) {
    auto& part = out.members.emplace_back();
    part.member_id = id;
    part.group_instance_id = member.instance_id;
    part.client_id = member.client_id;
    part.client_host = member.client_host;
    part.member_assignment = member.assignment;
    if (is_stable) part.member_metadata = member.metadata_for(group.protocol());
  }
  return out;
}

DescribeGroupsResponse::Group missing(const std::string& id, std::int16_t version) {
  DescribeGroupsResponse::Group out;
  out.group_id = id;
  out.group_state = to_string(GroupState::kDead);
  if (version < kGroupNotFoundVersion) return out;
  out.error_code = KafkaError::kGroupIdNotFound;
  out.error_message = "there is no group '" + id + "'";
  return out;
}

}  // namespace

Task<ListGroupsResponse> GroupCoordinator::list(const ListGroupsRequest& request) {
  auto collect = [](GroupCoordinator* self, std::vector<std::string> states,
                    std::vector<std::string> types) -> Task<ListGroupsResponse> {
    ListGroupsResponse response;
    if (!passes(types, kClassicType)) co_return response;
    auto add = [&](std::string_view id, std::string_view protocol_type, GroupState state) {
      if (!passes(states, to_string(state))) return;
      response.groups.push_back({.group_id = std::string(id),
                                 .protocol_type = std::string(protocol_type),
                                 .group_state = std::string(to_string(state)),
                                 .group_type = std::string(kClassicType)});
    };
    std::set<std::string> ids;
    for (std::string& id : self->coordinator_.group_ids()) ids.insert(std::move(id));
    for (const auto* more : {&self->groups_, &self->drafts_}) {
      for (const auto& [id, group] : *more) ids.insert(id);
    }
    for (const std::string& id : ids) {
      // Clients ask every broker and put the answers together.
      if (!self->is_owner(id)) continue;
      if (GroupPtr group = self->look_at(id)) add(id, group->protocol_type(), group->state());
    }
    co_return response;
  };
  co_return co_await boost::asio::co_spawn(
      executor_, collect(this, owned(request.states_filter), owned(request.types_filter)),
      boost::asio::use_awaitable);
}

Task<DescribeGroupsResponse> GroupCoordinator::describe(const DescribeGroupsRequest& request,
                                                        std::int16_t version) {
  auto collect = [](GroupCoordinator* self, std::vector<std::string> ids,
                    std::int16_t asked_version) -> Task<DescribeGroupsResponse> {
    DescribeGroupsResponse response;
    std::set<std::string_view> described;
    for (const std::string& id : ids) {
      if (!described.insert(id).second) continue;
      KafkaError error = co_await self->check_owner(id);
      if (error != KafkaError::kNone) {
        response.groups.push_back(missing(id, 0));
        response.groups.back().error_code = error;
        continue;
      }
      GroupPtr group = self->look_at(id);
      response.groups.push_back(group ? describe_one(*group) : missing(id, asked_version));
    }
    co_return response;
  };
  co_return co_await boost::asio::co_spawn(executor_, collect(this, owned(request.groups), version),
                                           boost::asio::use_awaitable);
}

Task<DeleteGroupsResponse> GroupCoordinator::remove(const DeleteGroupsRequest& request) {
  DeleteGroupsResponse response;
  for (std::string_view id : request.groups_names) {
    KafkaError error = co_await boost::asio::co_spawn(executor_, remove_group(std::string(id)),
                                                      boost::asio::use_awaitable);
    response.results.push_back({.group_id = std::string(id), .error_code = error});
  }
  co_return response;
}

Task<KafkaError> GroupCoordinator::remove_group(std::string group_id) {
  auto [error, group] = co_await hold(group_id, Missing::kIsNone);
  if (error != KafkaError::kNone) co_return error;
  if (!group)
    co_return drafts_.erase(group_id) > 0 ? KafkaError::kNone : KafkaError::kGroupIdNotFound;
  if (!group->is(GroupState::kEmpty)) co_return KafkaError::kNonEmptyGroup;
  error = co_await write(group, metadata::GroupDelete{.group = group_id, .claim = group->claim});
  if (error == KafkaError::kNone) forget(group);
  co_return error;
}

}  // namespace weir::groups

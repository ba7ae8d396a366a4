// JoinGroup: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/join_group.h"

namespace weir::broker {
namespace {

constexpr std::int16_t kNullableProtocolVersion = 7;

Task<kafka::JoinGroupResponse> join_group(Broker& broker, const RequestContext& context,
                                          const kafka::JoinGroupRequest& request) {
  auto response = co_await broker.groups.join(
      {.client_id = context.client_id(), .host = "/" + context.client.peer_address}, request,
      context.version());
  bool has_failed = response.error_code != kafka::KafkaError::kNone;
  if (has_failed && context.version() >= kNullableProtocolVersion)
    response.protocol_name = std::nullopt;
  co_return response;
}

}  // namespace

const ApiHandler kJoinGroupApi{kafka::ApiKey::kJoinGroup,
                               &serve<&join_group, kafka::JoinGroupRequest>};

}  // namespace weir::broker

// JoinGroup: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/join_group.h"

namespace weir::broker {
namespace {

constexpr std::int16_t kNullableProtocolVersion = 7;

Result<Task<kafka::JoinGroupResponse>> join(Broker& broker, const RequestContext& context,
                                            const Slice& body) {
  WEIR_TRY(auto request, kafka::decode<kafka::JoinGroupRequest>(body, context.version()));
  return broker.groups.join({.client_id = context.client_id(),
                             .host = "/" + context.client.peer_address,
                             .reservation = both(context.reservation, context.work.reservation)},
                            request, context.version());
}

Task<PendingAnswer> start_join_group(Broker& broker, RequestContext context, Slice body) {
  auto joining = join(broker, context, body);
  if (!joining) co_return answered(std::unexpected(joining.error()));
  let_go_of_request(context, body);
  auto response = co_await *std::move(joining);
  bool has_failed = response.error_code != kafka::KafkaError::kNone;
  if (has_failed && context.version() >= kNullableProtocolVersion)
    response.protocol_name = std::nullopt;
  co_return answered(answer_with(context, response));
}

}  // namespace

const ApiHandler kJoinGroupApi{kafka::ApiKey::kJoinGroup, &start_join_group};

}  // namespace weir::broker

// SyncGroup: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/sync_group.h"

namespace weir::broker {
namespace {

Result<Task<kafka::SyncGroupResponse>> sync(Broker& broker, const RequestContext& context,
                                            const Slice& body) {
  WEIR_TRY(auto request, kafka::decode<kafka::SyncGroupRequest>(body, context.version()));
  return broker.groups.sync(request, both(context.reservation, context.work.reservation));
}

Task<PendingAnswer> start_sync_group(Broker& broker, RequestContext context, Slice body) {
  auto syncing = sync(broker, context, body);
  if (!syncing) co_return answered(std::unexpected(syncing.error()));
  let_go_of_request(context, body);
  auto response = co_await *std::move(syncing);
  co_return answered(answer_with(context, response));
}

}  // namespace

const ApiHandler kSyncGroupApi{kafka::ApiKey::kSyncGroup, &start_sync_group};

}  // namespace weir::broker

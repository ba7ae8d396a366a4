// SyncGroup: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/sync_group.h"

namespace weir::broker {
namespace {

Task<kafka::SyncGroupResponse> sync_group(Broker& broker, const RequestContext&,
                                          const kafka::SyncGroupRequest& request) {
  co_return co_await broker.groups.sync(request);
}

}  // namespace

const ApiHandler kSyncGroupApi{kafka::ApiKey::kSyncGroup,
                               &serve<&sync_group, kafka::SyncGroupRequest>};

}  // namespace weir::broker

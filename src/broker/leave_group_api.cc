// LeaveGroup: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/leave_group.h"

namespace weir::broker {
namespace {

Task<kafka::LeaveGroupResponse> leave_group(Broker& broker, const RequestContext& context,
                                            const kafka::LeaveGroupRequest& request) {
  co_return co_await broker.groups.leave(request, context.version());
}

}  // namespace

const ApiHandler kLeaveGroupApi{kafka::ApiKey::kLeaveGroup,
                                &serve<&leave_group, kafka::LeaveGroupRequest>};

}  // namespace weir::broker

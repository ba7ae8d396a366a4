// ListGroups: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/list_groups.h"

namespace weir::broker {
namespace {

Task<kafka::ListGroupsResponse> list_groups(Broker& broker, const RequestContext&,
                                            const kafka::ListGroupsRequest& request) {
  co_return co_await broker.groups.list(request);
}

}  // namespace

const ApiHandler kListGroupsApi{kafka::ApiKey::kListGroups,
                                &serve_reading<&list_groups, kafka::ListGroupsRequest>};

}  // namespace weir::broker

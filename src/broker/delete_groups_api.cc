// DeleteGroups: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/delete_groups.h"

namespace weir::broker {
namespace {

Task<kafka::DeleteGroupsResponse> delete_groups(Broker& broker, const RequestContext&,
                                                const kafka::DeleteGroupsRequest& request) {
  co_return co_await broker.groups.remove(request);
}

}  // namespace

const ApiHandler kDeleteGroupsApi{kafka::ApiKey::kDeleteGroups,
                                  &serve<&delete_groups, kafka::DeleteGroupsRequest>};

}  // namespace weir::broker

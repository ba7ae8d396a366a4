// DescribeGroups: groups::GroupCoordinator does the work.
#include "broker/apis.h"
#include "broker/cluster_view.h"
#include "groups/group_coordinator.h"
#include "kafka/protocol/messages/describe_groups.h"

namespace weir::broker {
namespace {

Task<kafka::DescribeGroupsResponse> describe_groups(Broker& broker, const RequestContext& context,
                                                    const kafka::DescribeGroupsRequest& request) {
  kafka::DescribeGroupsResponse response =
      co_await broker.groups.describe(request, context.version());
  if (!request.include_authorized_operations) co_return response;
  for (auto& group : response.groups) {
    if (group.error_code == kafka::KafkaError::kNone)
      group.authorized_operations = kAllGroupOperations;
  }
  co_return response;
}

}  // namespace

const ApiHandler kDescribeGroupsApi{kafka::ApiKey::kDescribeGroups,
                                    &serve_reading<&describe_groups, kafka::DescribeGroupsRequest>};

}  // namespace weir::broker

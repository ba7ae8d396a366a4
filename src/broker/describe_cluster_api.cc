// DescribeCluster (KIP-700).
#include "broker/apis.h"
#include "broker/cluster_view.h"
#include "kafka/protocol/messages/describe_cluster.h"

#include <fmt/format.h>

namespace weir::broker {
namespace {

using kafka::DescribeClusterRequest;
using kafka::DescribeClusterResponse;
using kafka::KafkaError;

constexpr std::int8_t kBrokers = 1;
constexpr std::int8_t kControllers = 2;

Task<DescribeClusterResponse> describe_cluster(Broker& broker, const RequestContext& context,
                                               const DescribeClusterRequest& request) {
  DescribeClusterResponse response;
  auto image = broker.coordinator.image();
  response.cluster_id = image->cluster_id.to_string();
  if (request.endpoint_type != kBrokers) {
    bool is_known = request.endpoint_type == kControllers;
    response.error_code =
        is_known ? KafkaError::kMismatchedEndpointType : KafkaError::kUnsupportedEndpointType;
    response.error_message = fmt::format("endpoint type {} is not served here: ask for brokers (1)",
                                         request.endpoint_type);
    co_return response;
  }
  response.controller_id = controller_of(broker, *image);
  for (const auto& [id, member] : image->brokers) {
    const metadata::Endpoint* endpoint = endpoint_of(member, context.client.listener);
    if (endpoint == nullptr) continue;
    response.brokers.push_back({.broker_id = id,
                                .host = endpoint->host,
                                .port = endpoint->port,
                                .rack = rack_of(member),
                                .is_fenced = false});
  }
  if (request.include_cluster_authorized_operations)
    response.cluster_authorized_operations = kAllClusterOperations;
  co_return response;
}

}  // namespace

const ApiHandler kDescribeClusterApi{kafka::ApiKey::kDescribeCluster,
                                     &serve_reading<&describe_cluster, DescribeClusterRequest>};

}  // namespace weir::broker

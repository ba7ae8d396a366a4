// FindCoordinator: the broker that coordinates a group; any broker knows.
#include "broker/apis.h"
#include "broker/cluster_view.h"
#include "kafka/protocol/messages/find_coordinator.h"
#include "metadata/live_owner.h"

#include <fmt/format.h>

namespace weir::broker {
namespace {

using kafka::FindCoordinatorRequest;
using kafka::FindCoordinatorResponse;
using kafka::KafkaError;

constexpr std::int16_t kBatchVersion = 4;
constexpr std::int8_t kGroup = 0;
constexpr std::int8_t kTransaction = 1;

FindCoordinatorResponse::Coordinator failed(std::string_view key, KafkaError error,
                                            std::string message) {
  return {.key = std::string(key),
          .node_id = -1,
          .host = {},
          .port = -1,
          .error_code = error,
          .error_message = std::move(message)};
}

FindCoordinatorResponse::Coordinator find(const Broker& broker, const RequestContext& context,
                                          std::string_view key, std::int8_t type) {
  if (type == kTransaction) {
    return failed(key, KafkaError::kTransactionalIdAuthorizationFailed,
                  "this broker does not serve transactions yet");
  }
  if (type != kGroup) {
    return failed(key, KafkaError::kInvalidRequest,
                  fmt::format("there are no coordinators of type {} here", type));
  }
  auto image = broker.coordinator.image();
  auto owner = metadata::live_owner(*image, key);
  const metadata::Endpoint* endpoint =
      owner ? endpoint_of(image->brokers.at(*owner), context.client.listener) : nullptr;
  if (endpoint == nullptr) {
    return failed(key, KafkaError::kCoordinatorNotAvailable,
                  "the coordinator is not reachable by this listener");
  }
  FindCoordinatorResponse::Coordinator out;
  out.key = std::string(key);
  out.node_id = *owner;
  out.host = endpoint->host;
  out.port = endpoint->port;
  out.error_message = "";
  return out;
}

Task<FindCoordinatorResponse> find_coordinators(Broker& broker, const RequestContext& context,
                                                const FindCoordinatorRequest& request) {
  FindCoordinatorResponse response;
  if (context.version() >= kBatchVersion) {
    for (std::string_view key : request.coordinator_keys) {
      response.coordinators.push_back(find(broker, context, key, request.key_type));
    }
    co_return response;
  }
  FindCoordinatorResponse::Coordinator found = find(broker, context, request.key, request.key_type);
  response.error_code = found.error_code;
  // Kafka says so in words, too.
  response.error_message =
      found.error_code == KafkaError::kNone ? "NONE" : std::move(found.error_message);
  response.node_id = found.node_id;
  response.host = std::move(found.host);
  response.port = found.port;
  co_return response;
}

}  // namespace

const ApiHandler kFindCoordinatorApi{kafka::ApiKey::kFindCoordinator,
                                     &serve_reading<&find_coordinators, FindCoordinatorRequest>};

}  // namespace weir::broker

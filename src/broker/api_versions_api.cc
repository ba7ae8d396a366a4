// ApiVersions (KIP-35, KIP-511, KIP-1242): what this broker serves.
#include "broker/apis.h"
#include "broker/broker.h"
#include "kafka/protocol/messages/api_versions.h"

namespace weir::broker {
namespace {

using kafka::ApiVersionsRequest;
using kafka::ApiVersionsResponse;
using kafka::KafkaError;

constexpr std::int16_t kSoftwareNameVersion = 3;
constexpr std::int16_t kExpectationVersion = 5;  // the client may say whom it wants to talk to
constexpr std::size_t kMaxSoftwareName = 256;

// [a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?
bool is_software_name(std::string_view name) {
  auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (name.empty() || name.size() > kMaxSoftwareName) return false;
  if (!is_alphanumeric(name.front()) || !is_alphanumeric(name.back())) return false;
  return std::ranges::all_of(name,
                             [&](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

ApiVersionsResponse::Api entry(const kafka::ApiInfo& api) {
  return {.api_key = static_cast<std::int16_t>(api.key),
          .min_version = *api.advertised_from,
          .max_version = api.served->max};
}

ApiVersionsResponse table() {
  ApiVersionsResponse response;
  for (const kafka::ApiInfo& api : kafka::all_apis()) {
    if (api.served && api.advertised_from) response.api_keys.push_back(entry(api));
  }
  return response;
}

// A version that is not served is answered in version 0, with our own range, so that the client can
// ask again.
Answer answer_unknown_version(RequestContext context) {
  ApiVersionsResponse response;
  response.error_code = KafkaError::kUnsupportedVersion;
  response.api_keys.push_back(entry(*kafka::find_api(kafka::ApiKey::kApiVersions)));
  context.header.version = 0;
  return answer_with(context, response);
}

// NONE, or why the request is not answered with the table. A client that reached another broker
// than it expects, or another cluster, must find its brokers anew.
KafkaError check(const Broker& broker, const RequestContext& context,
                 const ApiVersionsRequest& request) {
  if (context.version() < kSoftwareNameVersion) return KafkaError::kNone;
  if (!is_software_name(request.client_software_name) ||
      !is_software_name(request.client_software_version)) {
    return KafkaError::kInvalidRequest;
  }
  if (context.version() < kExpectationVersion) return KafkaError::kNone;
  bool expects_node = request.node_id != -1;
  if (request.cluster_id.has_value() != expects_node) return KafkaError::kInvalidRequest;
  if (!expects_node) return KafkaError::kNone;
  bool is_expected = request.node_id == broker.node_id &&
                     *request.cluster_id == broker.coordinator.image()->cluster_id.to_string();
  return is_expected ? KafkaError::kNone : KafkaError::kRebootstrapRequired;
}

Task<PendingAnswer> start_api_versions(Broker& broker, RequestContext context, Slice body) {
  if (!kafka::find_api(kafka::ApiKey::kApiVersions)->served->has(context.version())) {
    co_return answered(answer_unknown_version(context));
  }
  auto request = kafka::decode<ApiVersionsRequest>(body, context.version());
  if (!request) co_return answered(std::unexpected(request.error()));
  ApiVersionsResponse response;
  response.error_code = check(broker, context, *request);
  if (response.error_code == KafkaError::kNone) {
    response = table();
    context.client.software_name = std::string(request->client_software_name);
    context.client.software_version = std::string(request->client_software_version);
  }
  co_return answered(answer_with(context, response));
}

}  // namespace

const ApiHandler kApiVersionsApi{kafka::ApiKey::kApiVersions, &start_api_versions};

}  // namespace weir::broker

// ApiVersions (KIP-35, KIP-511): what this broker serves.
#include "broker/apis.h"
#include "broker/broker.h"
#include "kafka/protocol/messages/api_versions.h"

namespace weir::broker {
namespace {

using kafka::ApiVersionsRequest;
using kafka::ApiVersionsResponse;
using kafka::KafkaError;

constexpr std::int16_t kSoftwareNameVersion = 3;
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
          .min_version = api.advertised_from,
          .max_version = api.served->max};
}

ApiVersionsResponse table() {
  ApiVersionsResponse response;
  for (const kafka::ApiInfo& api : kafka::all_apis()) {
    if (api.served) response.api_keys.push_back(entry(api));
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

Task<PendingAnswer> start_api_versions(Broker&, RequestContext context, Slice body) {
  if (!kafka::find_api(kafka::ApiKey::kApiVersions)->served->has(context.version())) {
    co_return answered(answer_unknown_version(context));
  }
  auto request = kafka::decode<ApiVersionsRequest>(body, context.version());
  if (!request) co_return answered(std::unexpected(request.error()));
  ApiVersionsResponse response = table();
  if (context.version() >= kSoftwareNameVersion) {
    bool is_valid = is_software_name(request->client_software_name) &&
                    is_software_name(request->client_software_version);
    if (is_valid) {
      context.client.software_name = std::string(request->client_software_name);
      context.client.software_version = std::string(request->client_software_version);
    } else {
      response = {};
      response.error_code = KafkaError::kInvalidRequest;
    }
  }
  co_return answered(answer_with(context, response));
}

}  // namespace

const ApiHandler kApiVersionsApi{kafka::ApiKey::kApiVersions, &start_api_versions};

}  // namespace weir::broker

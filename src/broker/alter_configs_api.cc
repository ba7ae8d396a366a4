// AlterConfigs (KIP-133), which replaces what is set for a resource, and IncrementalAlterConfigs
// (KIP-339), which changes single keys.
#include "broker/apis.h"
#include "broker/config_resources.h"
#include "config/alter.h"
#include "kafka/protocol/messages/alter_configs.h"
#include "kafka/protocol/messages/incremental_alter_configs.h"

namespace weir::broker {
namespace {

using config::Checked;
using config::Settings;
using kafka::AlterConfigsRequest;
using kafka::AlterConfigsResponse;
using kafka::IncrementalAlterConfigsRequest;
using kafka::IncrementalAlterConfigsResponse;

config::Scope scope_of(metadata::ConfigResourceType type) {
  if (type == metadata::ConfigResourceType::kTopic) return config::Scope::kTopic;
  return type == metadata::ConfigResourceType::kGroup ? config::Scope::kGroup
                                                      : config::Scope::kBroker;
}

Checked<Settings> proposal(const ResourceSettings&, const AlterConfigsRequest::Resource& asked) {
  Settings proposed;
  for (const auto& config : asked.configs) {
    if (!config.value)
      return config::invalid_request("the value of " + std::string(config.name) + " is null");
    if (!proposed.emplace(config.name, *config.value).second) {
      return config::invalid_request("the request sets " + std::string(config.name) + " twice");
    }
  }
  return proposed;
}

Checked<Settings> proposal(const ResourceSettings& resource,
                           const IncrementalAlterConfigsRequest::Resource& asked) {
  std::vector<config::Alteration> alterations;
  for (const auto& config : asked.configs) {
    config::Alteration alteration{.name = std::string(config.name),
                                  .op = static_cast<config::AlterOp>(config.config_operation)};
    if (config.value) alteration.value = std::string(*config.value);
    alterations.push_back(std::move(alteration));
  }
  return config::apply_alterations(scope_of(resource.type), resource.settings, alterations);
}

template <typename Resource>
std::pair<std::int8_t, std::string_view> name_of(const Resource& resource) {
  return {resource.resource_type, resource.resource_name};
}

template <typename Resource>
Task<Checked<void>> alter_one(Broker& broker, std::size_t core, const Resource& asked,
                              bool validate_only) {
  auto resource = find_resource(broker, asked.resource_type, std::string(asked.resource_name));
  if (!resource) co_return std::unexpected(resource.error());
  auto proposed = proposal(*resource, asked);
  if (!proposed) co_return std::unexpected(proposed.error());
  co_return co_await change_settings(broker, core, std::move(*resource), std::move(*proposed),
                                     validate_only);
}

template <typename Request, typename Response>
Task<Response> alter(Broker& broker, const RequestContext& context, const Request& request) {
  Response response;
  std::ignore = co_await broker.coordinator.catch_up();
  // A resource may stand once in a request.
  std::map<std::pair<std::int8_t, std::string_view>, std::size_t> times;
  for (const auto& resource : request.resources) ++times[name_of(resource)];
  for (const auto& resource : request.resources) {
    auto& out = response.responses.emplace_back();
    out.resource_type = resource.resource_type;
    out.resource_name = std::string(resource.resource_name);
    Checked<void> outcome = config::invalid_request("the request names this resource twice");
    if (times[name_of(resource)] == 1) {
      outcome = co_await alter_one(broker, context.client.core, resource, request.validate_only);
    }
    out.error_message = std::nullopt;
    if (outcome) continue;
    out.error_code = outcome.error().error;
    out.error_message = outcome.error().message;
  }
  co_return response;
}

}  // namespace

const ApiHandler kAlterConfigsApi{
    kafka::ApiKey::kAlterConfigs,
    &serve<&alter<AlterConfigsRequest, AlterConfigsResponse>, AlterConfigsRequest>};
const ApiHandler kIncrementalAlterConfigsApi{
    kafka::ApiKey::kIncrementalAlterConfigs,
    &serve<&alter<IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse>,
           IncrementalAlterConfigsRequest>};

}  // namespace weir::broker

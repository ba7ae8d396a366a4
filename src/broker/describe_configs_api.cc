// DescribeConfigs (KIP-133, KIP-226): configuration of topics, brokers and groups with its sources.
#include "broker/apis.h"
#include "broker/broker.h"
#include "broker/config_resources.h"
#include "broker/configs.h"
#include "config/describe.h"
#include "kafka/protocol/messages/describe_configs.h"

#include <map>
#include <utility>

namespace weir::broker {
namespace {

using kafka::DescribeConfigsRequest;
using kafka::DescribeConfigsResponse;
using Entries = std::vector<config::ConfigEntry>;
using metadata::ConfigResourceType;

config::Checked<Entries> entries_of(Broker& broker, std::size_t core, std::int8_t type,
                                    const std::string& name) {
  auto target = find_resource(broker, type, name);
  if (!target) return std::unexpected(target.error());
  const auto state = broker.configs.current(core);
  switch (target->type) {
    case ConfigResourceType::kTopic:
      return config::describe_topic(target->settings, state->layers);
    case ConfigResourceType::kGroup:
      return config::describe_group(target->settings, state->layers);
    case ConfigResourceType::kBroker:
      return name.empty() ? config::describe_cluster_default(state->layers)
                          : config::describe_broker(state->layers);
    case ConfigResourceType::kClientMetrics:
      break;
  }
  return Entries{};
}

// Kafka answers a resource as often as it is asked for. An answer is a thousand times the question,
// and clients ask once: nobody needs more than this.
constexpr int kMostRepeats = 3;

DescribeConfigsResponse::Config describe(config::ConfigEntry entry,
                                         const DescribeConfigsRequest& request) {
  DescribeConfigsResponse::Config out;
  out.name = std::string(entry.key->name);
  out.value = std::move(entry.value);
  out.read_only = entry.read_only;
  out.config_source = static_cast<std::int8_t>(entry.source);
  out.is_sensitive = entry.sensitive;
  out.config_type = static_cast<std::int8_t>(entry.key->type);
  out.documentation = std::nullopt;
  if (request.include_documentation) out.documentation = config::documentation(*entry.key);
  if (!request.include_synonyms) return out;
  for (config::ConfigSynonym& synonym : entry.synonyms) {
    out.synonyms.push_back({.name = std::string(synonym.name),
                            .value = std::move(synonym.value),
                            .source = static_cast<std::int8_t>(synonym.source)});
  }
  return out;
}

// No keys, or an empty list of them, asks for all.
bool is_asked(const DescribeConfigsRequest::Resource& resource, std::string_view name) {
  const auto& keys = resource.configuration_keys;
  return !keys || keys->empty() || std::ranges::find(*keys, name) != keys->end();
}

Task<DescribeConfigsResponse> describe_configs(Broker& broker, const RequestContext& context,
                                               const DescribeConfigsRequest& request) {
  DescribeConfigsResponse response;
  std::ignore = co_await broker.coordinator.catch_up();
  std::map<std::pair<std::int8_t, std::string_view>, int> answered;
  for (const auto& resource : request.resources) {
    int& times = answered[{resource.resource_type, resource.resource_name}];
    if (++times > kMostRepeats) continue;
    auto& out = response.results.emplace_back();
    out.resource_type = resource.resource_type;
    out.resource_name = std::string(resource.resource_name);
    auto entries =
        entries_of(broker, context.client.core, resource.resource_type, out.resource_name);
    if (!entries) {
      out.error_code = entries.error().error;
      out.error_message = entries.error().message;
      continue;
    }
    for (config::ConfigEntry& entry : *entries) {
      if (is_asked(resource, entry.key->name))
        out.configs.push_back(describe(std::move(entry), request));
    }
  }
  co_return response;
}

}  // namespace

const ApiHandler kDescribeConfigsApi{kafka::ApiKey::kDescribeConfigs,
                                     &serve_reading<&describe_configs, DescribeConfigsRequest>};

}  // namespace weir::broker

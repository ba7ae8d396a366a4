// Metadata: brokers, topics and leaders, with auto-creation of topics that a client names.
#include "broker/apis.h"
#include "broker/cluster_view.h"
#include "broker/configs.h"
#include "broker/submit.h"
#include "broker/topic_admin.h"
#include "kafka/protocol/messages/metadata.h"

namespace weir::broker {
namespace {

using kafka::KafkaError;
using kafka::MetadataRequest;
using kafka::MetadataResponse;

constexpr std::int16_t kAllTopicsIsEmptyVersion = 0;
constexpr std::int16_t kAutoCreateFlagVersion = 4;
constexpr std::int16_t kListenerErrorVersion = 6;
constexpr std::int16_t kTopicIdVersion = 12;  // in requests

KafkaError no_listener_error(std::int16_t version) {
  return version < kListenerErrorVersion ? KafkaError::kLeaderNotAvailable
                                         : KafkaError::kListenerNotFound;
}

// What all topics of one answer have in common.
struct View {
  const RequestContext& context;
  std::shared_ptr<const metadata::ClusterImage> image;
  Routing routing;
  bool with_operations = false;
};

View view_of(const Broker& broker, const RequestContext& context, const MetadataRequest& request) {
  auto image = broker.coordinator.image();
  Routing routing = routing_for(broker, context, *image);
  return {context, std::move(image), std::move(routing),
          request.include_topic_authorized_operations};
}

MetadataResponse::Topic describe(const View& view, const metadata::TopicImage& topic) {
  MetadataResponse::Topic out;
  out.name = topic.name;
  out.topic_id = topic.id;
  if (view.with_operations) out.topic_authorized_operations = kAllTopicOperations;
  std::vector<Placement> places = view.routing.place(topic);
  for (std::int32_t i = 0; i < topic.partition_count(); ++i) {
    MetadataResponse::Partition partition;
    partition.partition_index = i;
    partition.leader_epoch = view.image->membership;
    if (places.empty()) {
      partition.error_code = no_listener_error(view.context.version());
      partition.leader_id = -1;
    } else {
      Placement& place = places[static_cast<std::size_t>(i)];
      partition.leader_id = place.leader;
      partition.isr_nodes = place.replicas;
      partition.replica_nodes = std::move(place.replicas);
    }
    out.partitions.push_back(std::move(partition));
  }
  return out;
}

MetadataResponse::Topic unknown(std::optional<std::string> name, TopicId id, KafkaError error) {
  MetadataResponse::Topic out;
  out.name = std::move(name);
  out.topic_id = id;
  out.error_code = error;
  return out;
}

void add_brokers(MetadataResponse& response, const RequestContext& context,
                 const metadata::ClusterImage& image) {
  for (const auto& [id, broker] : image.brokers) {
    const metadata::Endpoint* endpoint = endpoint_of(broker, context.client.listener);
    if (endpoint == nullptr) continue;
    response.brokers.push_back(
        {.node_id = id, .host = endpoint->host, .port = endpoint->port, .rack = rack_of(broker)});
  }
}

// Creates the named topics that do not exist; the answer for those that could not be created.
Task<std::map<std::string, KafkaError>> auto_create(Broker& broker, std::size_t core,
                                                    const std::vector<std::string>& names) {
  std::vector<TopicSpec> specs;
  for (const std::string& name : names) specs.push_back({.name = name, .configs = {}});
  std::map<std::string, KafkaError> failed;
  auto outcomes = co_await create_topics(broker, specs, {.core = core, .wait = kDefaultWait});
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    KafkaError error = outcomes[i].error;
    if (error == KafkaError::kNone || error == KafkaError::kTopicAlreadyExists) continue;
    // What went wrong on our side passes: the client asks again.
    failed[names[i]] =
        error == KafkaError::kInvalidTopicException ? error : KafkaError::kLeaderNotAvailable;
  }
  co_return failed;
}

bool may_auto_create(const Broker& broker, const RequestContext& context,
                     const MetadataRequest& request) {
  return broker.configs.current(context.client.core)->broker.new_topics.auto_create &&
         (context.version() < kAutoCreateFlagVersion || request.allow_auto_topic_creation);
}

bool has_unknown_id(const Broker& broker, const MetadataRequest& request) {
  auto image = broker.coordinator.image();
  return std::ranges::any_of(*request.topics, [&](const auto& topic) {
    return !topic.topic_id.is_zero() && !image->topic(topic.topic_id);
  });
}

std::vector<std::string> missing_names(const Broker& broker, const MetadataRequest& request) {
  std::vector<std::string> names;
  auto image = broker.coordinator.image();
  for (const auto& topic : *request.topics) {
    if (topic.name && topic.topic_id.is_zero() && !image->topic(*topic.name))
      names.emplace_back(*topic.name);
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

Task<void> add_named_topics(Broker& broker, const RequestContext& context,
                            const MetadataRequest& request, MetadataResponse& response) {
  std::map<std::string, KafkaError> failed;
  std::vector<std::string> missing = missing_names(broker, request);
  // This broker may be behind: before a topic is said not to exist, the log is asked.
  bool is_behind = !missing.empty() || has_unknown_id(broker, request);
  if (is_behind && co_await broker.coordinator.catch_up()) missing = missing_names(broker, request);
  if (!missing.empty() && may_auto_create(broker, context, request))
    failed = co_await auto_create(broker, context.client.core, missing);
  View view = view_of(broker, context, request);
  // What stands twice is answered once.
  std::set<std::string> answered;
  std::set<Uuid> answered_ids;
  for (const auto& asked : *request.topics) {
    bool by_id = !asked.topic_id.is_zero();
    std::string name(asked.name.value_or(""));
    if (by_id ? !answered_ids.insert(asked.topic_id).second : !answered.insert(name).second)
      continue;
    auto topic = by_id ? view.image->topic(asked.topic_id) : view.image->topic(name);
    if (topic) {
      response.topics.push_back(describe(view, *topic));
    } else if (by_id) {
      response.topics.push_back(unknown(std::nullopt, asked.topic_id, KafkaError::kUnknownTopicId));
    } else {
      auto why = failed.find(name);
      KafkaError error = why != failed.end() ? why->second : check_topic_name(name).error;
      if (error == KafkaError::kNone) error = KafkaError::kUnknownTopicOrPartition;
      response.topics.push_back(unknown(name, {}, error));
    }
  }
}

// Versions below 12 name topics only.
bool is_named_wrongly(const MetadataRequest& request, std::int16_t version) {
  return version < kTopicIdVersion && request.topics &&
         std::ranges::any_of(
             *request.topics,
             [](const auto& topic) { return !topic.name || !topic.topic_id.is_zero(); });
}

MetadataResponse refuse(const MetadataRequest& request) {
  MetadataResponse response;
  for (const auto& topic : *request.topics) {
    response.topics.push_back(
        unknown(std::string(topic.name.value_or("")), topic.topic_id, KafkaError::kInvalidRequest));
  }
  return response;
}

Task<MetadataResponse> describe_cluster_metadata(Broker& broker, const RequestContext& context,
                                                 const MetadataRequest& request) {
  if (is_named_wrongly(request, context.version())) co_return refuse(request);
  MetadataResponse response;
  bool wants_all =
      !request.topics || (context.version() == kAllTopicsIsEmptyVersion && request.topics->empty());
  if (wants_all) {
    // What was just created through another broker is part of all.
    std::ignore = co_await broker.coordinator.catch_up();
    View view = view_of(broker, context, request);
    view.image->topics_by_name.for_each(
        [&](const std::string&, const std::shared_ptr<const metadata::TopicImage>& topic) {
          response.topics.push_back(describe(view, *topic));
        });
  } else {
    co_await add_named_topics(broker, context, request, response);
  }
  auto image = broker.coordinator.image();
  add_brokers(response, context, *image);
  response.cluster_id = image->cluster_id.to_string();
  response.controller_id = controller_of(broker, *image);
  if (request.include_cluster_authorized_operations)
    response.cluster_authorized_operations = kAllClusterOperations;
  co_return response;
}

}  // namespace

const ApiHandler kMetadataApi{kafka::ApiKey::kMetadata,
                              &serve_reading<&describe_cluster_metadata, MetadataRequest>};

}  // namespace weir::broker

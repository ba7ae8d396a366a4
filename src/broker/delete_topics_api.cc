// DeleteTopics, by name or (from version 6) by id.
#include "broker/apis.h"
#include "broker/broker.h"
#include "broker/configs.h"
#include "broker/submit.h"
#include "kafka/error_map.h"
#include "kafka/protocol/messages/delete_topics.h"

namespace weir::broker {
namespace {

using kafka::DeleteTopicsRequest;
using kafka::DeleteTopicsResponse;
using kafka::KafkaError;

constexpr std::int16_t kIdVersion = 6;
constexpr std::int16_t kDisabledVersion =
    3;  // before it, clients do not know TOPIC_DELETION_DISABLED

struct Target {
  std::optional<std::string> name;
  TopicId id;
};

std::vector<Target> targets_of(const RequestContext& context, const DeleteTopicsRequest& request) {
  std::vector<Target> out;
  if (context.version() < kIdVersion) {
    for (std::string_view name : request.topic_names)
      out.push_back({.name = std::string(name), .id = {}});
    return out;
  }
  for (const auto& topic : request.topics) {
    Target target{.name = std::nullopt, .id = topic.topic_id};
    if (topic.name) target.name = std::string(*topic.name);
    out.push_back(std::move(target));
  }
  return out;
}

// Looks the target up and completes its name and id; the error when it cannot be deleted.
KafkaError resolve(const metadata::ClusterImage& image, Target& target) {
  if (target.name && !target.id.is_zero()) return KafkaError::kInvalidRequest;
  if (!target.name && target.id.is_zero()) return KafkaError::kInvalidRequest;
  auto topic = target.name ? image.topic(*target.name) : image.topic(target.id);
  if (!topic)
    return target.name ? KafkaError::kUnknownTopicOrPartition : KafkaError::kUnknownTopicId;
  target.name = topic->name;
  target.id = topic->id;
  return KafkaError::kNone;
}

std::string words_for(KafkaError error) {
  switch (error) {
    case KafkaError::kUnknownTopicOrPartition:
    case KafkaError::kUnknownTopicId:
      return "there is no such topic";
    case KafkaError::kInvalidRequest:
      return "a topic is named once, by its name or by its id";
    case KafkaError::kTopicDeletionDisabled:
      return "delete.topic.enable is false";
    default:
      return "the topic could not be deleted now";
  }
}

DeleteTopicsResponse::TopicResult result(const Target& target, KafkaError error) {
  DeleteTopicsResponse::TopicResult out;
  out.name = target.name;
  out.topic_id = target.id;
  out.error_code = error;
  if (error != KafkaError::kNone) out.error_message = words_for(error);
  return out;
}

Task<DeleteTopicsResponse> delete_topics(Broker& broker, const RequestContext& context,
                                         const DeleteTopicsRequest& request) {
  DeleteTopicsResponse response;
  std::vector<Target> targets = targets_of(context, request);
  if (!broker.configs.current(context.client.core)->broker.new_topics.deletion_allowed) {
    KafkaError error = context.version() < kDisabledVersion ? KafkaError::kInvalidRequest
                                                            : KafkaError::kTopicDeletionDisabled;
    for (const Target& target : targets) response.responses.push_back(result(target, error));
    co_return response;
  }
  std::ignore = co_await broker.coordinator.catch_up();
  auto image = broker.coordinator.image();
  metadata::DeleteTopics command;
  std::vector<Target> deleting;
  std::map<TopicId, std::size_t> times;
  std::vector<KafkaError> errors;
  for (Target& target : targets) {
    errors.push_back(resolve(*image, target));
    if (errors.back() == KafkaError::kNone) ++times[target.id];
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Target& target = targets[i];
    KafkaError error = errors[i];
    if (error == KafkaError::kNone && times[target.id] == 0) continue;  // answered already
    if (error == KafkaError::kNone && times[target.id] > 1) {
      error = KafkaError::kInvalidRequest;
      times[target.id] = 0;
      target.id = {};
    }
    if (error != KafkaError::kNone) {
      response.responses.push_back(result(target, error));
      continue;
    }
    command.topics.push_back(target.id);
    deleting.push_back(target);
  }
  if (deleting.empty()) co_return response;
  auto applied = co_await submit_within(broker, std::move(command), wait_of(request.timeout_ms));
  for (std::size_t i = 0; i < deleting.size(); ++i) {
    KafkaError error = applied ? applied->items[i].error : kafka::admin_error(applied.error().code);
    response.responses.push_back(result(deleting[i], error));
  }
  co_return response;
}

}  // namespace

const ApiHandler kDeleteTopicsApi{kafka::ApiKey::kDeleteTopics,
                                  &serve<&delete_topics, DeleteTopicsRequest>};

}  // namespace weir::broker

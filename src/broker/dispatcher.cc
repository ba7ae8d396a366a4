#include "broker/dispatcher.h"

#include "broker/apis.h"
#include "broker/broker.h"
#include "broker/work_memory.h"

#include <fmt/format.h>

namespace weir::broker {
namespace {

const std::array kApis{
    &kProduceApi,
    &kFetchApi,
    &kListOffsetsApi,
    &kMetadataApi,
    &kApiVersionsApi,
    &kCreateTopicsApi,
    &kDeleteTopicsApi,
    &kCreatePartitionsApi,
    &kDeleteRecordsApi,
    &kDescribeConfigsApi,
    &kAlterConfigsApi,
    &kIncrementalAlterConfigsApi,
    &kDescribeClusterApi,
    &kDescribeTopicPartitionsApi,
    &kInitProducerIdApi,
    &kFindCoordinatorApi,
    &kJoinGroupApi,
    &kSyncGroupApi,
    &kHeartbeatApi,
    &kLeaveGroupApi,
    &kOffsetCommitApi,
    &kOffsetFetchApi,
    &kListGroupsApi,
    &kDescribeGroupsApi,
    &kDeleteGroupsApi,
    &kOffsetDeleteApi,
    &kOffsetForLeaderEpochApi,
    &kAppendEntryApi,
};

// Produce is mostly records: it counts itself what it becomes. An entry for the log stays bytes.
bool is_list(kafka::ApiKey key) {
  return key != kafka::ApiKey::kProduce && key != kafka::ApiKey::kAppendEntry;
}

}  // namespace

Dispatcher::Dispatcher(Broker& broker) : broker_(broker) {
  for (const ApiHandler* api : kApis) handlers_[static_cast<std::size_t>(api->key)] = api;
}

bool Dispatcher::is_short_of_memory() const {
  return broker_.fetcher.is_short_of_memory() || broker_.work.waiting() > 0;
}

Task<PendingAnswer> Dispatcher::start(Slice frame, std::shared_ptr<const void> reservation,
                                      ClientConnection& client, std::stop_token closed) {
  // An API may let go of the body before it answers: nothing here keeps the frame.
  auto parsed = kafka::parse_request(std::exchange(frame, {}));
  if (!parsed) co_return answered(std::unexpected(parsed.error()));
  const kafka::RequestHeader& header = parsed->header;
  const ApiHandler* handler = handlers_[static_cast<std::size_t>(header.api_key)];
  bool is_served = handler != nullptr && parsed->api->served;
  bool has_version = is_served && (parsed->api->served->has(header.version) ||
                                   header.api_key == kafka::ApiKey::kApiVersions);
  if (!has_version) {
    co_return answered(
        fail(ErrorCode::kInvalid, fmt::format("{} version {} is not served by this broker",
                                              parsed->api->name, header.version)));
  }
  WorkMemory::Place work;
  if (is_list(header.api_key)) {
    auto place = co_await broker_.work.reserve_list(parsed->body.size(), closed);
    if (!place) co_return answered(std::unexpected(place.error()));
    work = *std::move(place);
  }
  co_return co_await handler->start(broker_,
                                    {.header = header,
                                     .client = client,
                                     .reservation = std::move(reservation),
                                     .work = std::move(work),
                                     .closed = std::move(closed)},
                                    std::move(parsed->body));
}

}  // namespace weir::broker

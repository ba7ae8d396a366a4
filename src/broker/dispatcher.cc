#include "broker/dispatcher.h"

#include "broker/apis.h"
#include "broker/broker.h"

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
};

// A request above this that is a list, which all are but these two, becomes many times its size
// when it is decoded and answered: a partition of a Fetch takes 24 bytes on the wire and some 600
// in all that is made of it. JoinGroup may wait for minutes, and groups count their members.
constexpr ByteCount kLargeRequest = 64_KiB;
constexpr ByteCount kWorkFactor = 24;
bool is_list(kafka::ApiKey key) {
  return key != kafka::ApiKey::kProduce && key != kafka::ApiKey::kJoinGroup;
}

}  // namespace

Dispatcher::Dispatcher(Broker& broker, ByteBudget& work) : broker_(broker), work_(work) {
  for (const ApiHandler* api : kApis) handlers_[static_cast<std::size_t>(api->key)] = api;
}

Task<Result<std::shared_ptr<const void>>> Dispatcher::reserve_work(kafka::ApiKey key,
                                                                   ByteCount size,
                                                                   std::stop_token closed) {
  if (!is_list(key) || size <= kLargeRequest) co_return nullptr;
  const ByteCount most = work_.limit() * 2;
  if (size * kWorkFactor > most) {
    co_return fail(ErrorCode::kInvalid,
                   fmt::format("a request of {} bytes that is no Produce takes too much memory to "
                               "be served: at most {} bytes, or raise memory.budget.bytes",
                               size, most / kWorkFactor));
  }
  ByteBudget::Reservation place = co_await work_.reserve(size * kWorkFactor, std::move(closed));
  if (!place) co_return fail(ErrorCode::kCancelled, "the connection is closed");
  co_return place;
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
  auto place = co_await reserve_work(header.api_key, parsed->body.size(), closed);
  if (!place) co_return answered(std::unexpected(place.error()));
  co_return co_await handler->start(broker_,
                                    {.header = header,
                                     .client = client,
                                     .reservation = std::move(reservation),
                                     .closed = std::move(closed)},
                                    std::move(parsed->body));
}

}  // namespace weir::broker

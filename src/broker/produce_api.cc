// Produce, in two steps: validate and stage, in the order of the connection's requests; then answer
// when the batches are committed. Between the two the connection reads on, so that a producer's
// requests overlap.
#include "base/planted.h"
#include "broker/apis.h"
#include "broker/broker.h"
#include "broker/configs.h"
#include "broker/work_memory.h"
#include "kafka/protocol/messages/produce.h"
#include "kafka/records/validation.h"

#include <boost/asio/this_coro.hpp>

namespace weir::broker {
namespace {

using kafka::KafkaError;
using kafka::ProduceRequest;
using kafka::ProduceResponse;

constexpr std::int16_t kNoAcks = 0;
constexpr std::int16_t kTopicIdVersion = 13;

// A producer may say that it has hardly any time. Kafka does not hold it to that where a leader's
// append is all it waits for; here it is an object and its commit.
constexpr std::chrono::milliseconds kLeastWait = std::chrono::seconds(1);

bool are_valid_acks(std::int16_t acks) { return acks >= -1 && acks <= 1; }

// A request on its way: the response, filled but for the outcomes of what is staged.
struct ProduceCall {
  struct Staged {
    std::size_t topic;  // indexes of the response
    std::size_t partition;
  };

  RequestContext context;
  Slice body;  // the client id of `context` lies in its memory
  std::int16_t acks = 0;
  MonoTime deadline;
  ProduceResponse response;
  std::vector<produce::StagedBatch> batches;
  std::vector<Staged> staged;
};

void reject(ProduceResponse::PartitionResponse& out, KafkaError error, std::string message = {}) {
  out.error_code = error;
  out.base_offset = kNoOffset;
  if (!message.empty()) out.error_message = std::move(message);
}

void reject(ProduceResponse::PartitionResponse& out, kafka::BatchRejection rejection) {
  reject(out, rejection.error, std::move(rejection.message));
  for (kafka::RecordError& record : rejection.record_errors) {
    out.record_errors.push_back({.batch_index = record.batch_index,
                                 .batch_index_error_message = std::move(record.message)});
  }
}

// Validates one partition's records and puts the batch among those to stage, or the error into the
// response.
void take(ProduceCall& call, const TopicRules& rules, const metadata::TopicImage& topic,
          const ProduceRequest::PartitionData& in, ProduceResponse::PartitionResponse& out,
          TimestampMs now) {
  if (topic.partition(in.index) == nullptr)
    return reject(out, KafkaError::kUnknownTopicOrPartition);
  auto verdict = kafka::validate_batch(in.records.value_or(Slice{}),
                                       rules.validation(call.context.version()), now);
  if (!verdict) {
    // As in Kafka, a batch that was judged as the log's records tells where the log starts.
    bool is_of_log =
        !verdict.error().is_no_batch && (verdict.error().error == KafkaError::kInvalidRecord ||
                                         verdict.error().error == KafkaError::kInvalidTimestamp);
    if (is_of_log) out.log_start_offset = topic.partition(in.index)->view().log_start;
    return reject(out, std::move(verdict.error()));
  }
  call.batches.push_back({.batch = {.partition = {topic.id, in.index},
                                    .bytes = std::move(verdict->batch),
                                    .log_append_time = rules.stamps_log_append_time()}});
}

std::shared_ptr<const metadata::TopicImage> topic_of(const metadata::ClusterImage& image,
                                                     const ProduceRequest::TopicData& topic,
                                                     bool by_id) {
  return by_id ? image.topic(topic.topic_id) : image.topic(topic.name);
}

bool has_unknown(const metadata::ClusterImage& image, const ProduceRequest& request, bool by_id) {
  return std::ranges::any_of(request.topic_data, [&](const auto& topic) {
    auto found = topic_of(image, topic, by_id);
    return !found || std::ranges::any_of(topic.partition_data, [&](const auto& partition) {
      return found->partition(partition.index) == nullptr;
    });
  });
}

// Whether some partition's batch is part of a transaction, as far as its header can be read.
bool has_transactional_batch(const ProduceRequest& request) {
  auto is_transactional = [](const ProduceRequest::PartitionData& partition) {
    Bytes bytes = partition.records.value_or(Slice{}).bytes();
    if (bytes.size() < kafka::kBatchHeaderSize) return false;
    kafka::RecordBatchView batch(bytes);
    return batch.magic() == kafka::kBatchMagic && batch.is_transactional();
  };
  return std::ranges::any_of(request.topic_data, [&](const ProduceRequest::TopicData& topic) {
    return std::ranges::any_of(topic.partition_data, is_transactional);
  });
}

// Transactions are not served: nobody is allowed to write in one, and as in Kafka nothing of such a
// request is written.
void refuse_topic(const ProduceRequest::TopicData& in, ProduceResponse::TopicResponse& out) {
  for (const ProduceRequest::PartitionData& partition : in.partition_data) {
    auto& answer = out.partition_responses.emplace_back();
    answer.index = partition.index;
    reject(answer, KafkaError::kTransactionalIdAuthorizationFailed);
  }
}

void take_topic(Broker& broker, ProduceCall& call, const ProduceRequest::TopicData& in,
                ProduceResponse::TopicResponse& out, std::size_t topic_index) {
  auto image = broker.coordinator.image();
  bool by_id = call.context.version() >= kTopicIdVersion;
  auto topic = topic_of(*image, in, by_id);
  std::shared_ptr<const TopicRules> rules =
      topic ? broker.configs.of(call.context.client.core, topic) : nullptr;
  TimestampMs now = broker.clock.wall_ms();
  for (const ProduceRequest::PartitionData& partition : in.partition_data) {
    auto& answer = out.partition_responses.emplace_back();
    answer.index = partition.index;
    if (!are_valid_acks(call.acks)) {
      reject(answer, KafkaError::kInvalidRequiredAcks);
    } else if (!topic) {
      reject(answer, by_id ? KafkaError::kUnknownTopicId : KafkaError::kUnknownTopicOrPartition);
    } else {
      std::size_t before = call.batches.size();
      take(call, *rules, *topic, partition, answer, now);
      if (call.batches.size() > before)
        call.staged.push_back({topic_index, out.partition_responses.size() - 1});
    }
  }
}

// Fills in what became of the staged batches, and answers.
Task<void> answer_when_done(Broker& broker, std::shared_ptr<ProduceCall> call,
                            std::shared_ptr<produce::PendingWrite> write, PendingAnswer pending) {
  auto outcomes = co_await write->wait_until(broker.clock, call->deadline);
  bool has_failed = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto& out = call->response.responses[call->staged[i].topic]
                    .partition_responses[call->staged[i].partition];
    out.error_code = outcomes[i].error;
    out.base_offset = outcomes[i].base_offset;
    out.log_append_time_ms = outcomes[i].log_append_time_ms;
    out.log_start_offset = outcomes[i].log_start_offset;
  }
  for (const auto& topic : call->response.responses) {
    for (const auto& partition : topic.partition_responses)
      has_failed |= partition.error_code != KafkaError::kNone;
  }
  if (call->acks != kNoAcks || planted(Bug::kAnsweredWithoutAcks)) {
    Answer answer = answer_with(call->context, call->response);
    if (!hold(broker, call->context, answer))
      answer = co_await hold_later(broker, call->context, std::move(answer));
    pending.set(std::move(answer));
  } else if (has_failed) {
    // Without a response there is one way to tell a producer that something is wrong.
    pending.set(fail(ErrorCode::kInvalid, "a batch sent with acks=0 was rejected"));
  } else {
    pending.set(Answer(std::nullopt));
  }
}

// What a partition becomes: its part of the request, a staged batch, an outcome, an answer with a
// message.
constexpr ByteCount kPartitionWork = 1_KiB;

ByteCount work_of(const ProduceRequest& request) {
  ByteCount items = request.topic_data.size();
  for (const auto& topic : request.topic_data) items += topic.partition_data.size();
  return items * kPartitionWork;
}

// Most of a request is records, which stay where they are; its decoded arrays are small. One that
// has more partitions than records is a list like any other. `reservation` gets the place of what
// the request becomes.
Task<Result<ProduceRequest>> decode_produce(Broker& broker, RequestContext& context,
                                            const Slice& body) {
  const std::size_t usual = kafka::memory_for(body.size() / 16, 1);
  auto request = kafka::decode_within<ProduceRequest>(usual, body, context.version());
  const bool is_list = !request && request.error().code == ErrorCode::kExhausted;
  if (!request && !is_list) co_return request;
  if (!is_list && WorkMemory::is_little(work_of(*request))) co_return request;
  auto place = is_list ? co_await broker.work.reserve_list(body.size(), context.closed)
                       : co_await broker.work.reserve(work_of(*request), context.closed);
  if (!place) co_return std::unexpected(place.error());
  context.work = *std::move(place);
  if (is_list) co_return kafka::decode<ProduceRequest>(body, context.version());
  co_return request;
}

Task<PendingAnswer> start_produce(Broker& broker, RequestContext context, Slice body) {
  auto request = co_await decode_produce(broker, context, body);
  if (!request) co_return answered(std::unexpected(request.error()));
  auto call = std::make_shared<ProduceCall>(ProduceCall{
      .context = context,
      .body = body,
      .acks = request->acks,
      .deadline =
          broker.clock.now() + std::max(kLeastWait, std::chrono::milliseconds(request->timeout_ms)),
      .response = {},
  });
  // Another broker may have created what is unknown here. If that is not found out, the connection
  // closes with all that was sent on it: a producer's second batch must not become its first
  // because the topic was seen between the two.
  auto is_unknown = [&] {
    return has_unknown(*broker.coordinator.image(), *request, context.version() >= kTopicIdVersion);
  };
  if (is_unknown()) {
    const Status caught_up = co_await broker.coordinator.catch_up();
    if (!caught_up && is_unknown())
      co_return answered(std::unexpected(caught_up.error().in("produce to a topic not seen yet")));
  }
  bool is_transactional = has_transactional_batch(*request);
  for (const ProduceRequest::TopicData& topic : request->topic_data) {
    auto& out = call->response.responses.emplace_back();
    out.topic_id = topic.topic_id;
    out.name = std::string(topic.name);
    if (is_transactional) {
      refuse_topic(topic, out);
    } else {
      take_topic(broker, *call, topic, out, call->response.responses.size() - 1);
    }
  }
  auto write = std::make_shared<produce::PendingWrite>(call->batches.size(), context.reservation);
  for (std::size_t i = 0; i < call->batches.size(); ++i) {
    call->batches[i].write = write;
    call->batches[i].index = static_cast<std::uint32_t>(i);
  }
  produce::detach_small_part(call->batches, body);
  broker.stage.add(context.client.core, std::move(call->batches), broker.clock.now());
  PendingAnswer pending;
  broker.tasks.spawn(co_await boost::asio::this_coro::executor,
                     answer_when_done(broker, call, write, pending));
  co_return pending;
}

}  // namespace

const ApiHandler kProduceApi{kafka::ApiKey::kProduce, &start_produce};

}  // namespace weir::broker

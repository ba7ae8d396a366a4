// Fetch: sessions (KIP-227) around fetch::Fetcher, which does the work.
#include "broker/apis.h"
#include "broker/broker.h"
#include "broker/cluster_view.h"
#include "broker/configs.h"
#include "broker/topic_admin.h"
#include "kafka/protocol/messages/fetch.h"

namespace weir::broker {
namespace {

using fetch::PartitionData;
using fetch::PartitionFetch;
using fetch::SessionKey;
using kafka::FetchRequest;
using kafka::FetchResponse;
using kafka::KafkaError;

constexpr std::int16_t kTopicIdVersion = 13;
constexpr std::int16_t kStorageErrorVersion =
    6;  // before it, clients do not know KAFKA_STORAGE_ERROR
constexpr std::int8_t kReadCommitted = 1;

// What a partition of a session becomes while it is served.
constexpr ByteCount kPartitionWork = 600;

SessionKey key_of(const PartitionFetch& fetch) {
  return {fetch.topic_id, fetch.topic, fetch.partition};
}

// In the order of the request; of a partition that stands twice the last counts, in the first's
// place.
std::vector<PartitionFetch> partitions_of(const metadata::ClusterImage& image,
                                          const FetchRequest& request, std::int16_t version) {
  std::vector<PartitionFetch> out;
  std::map<SessionKey, std::size_t> places;
  for (const auto& topic : request.topics) {
    auto known = version >= kTopicIdVersion ? image.topic(topic.topic_id) : nullptr;
    for (const auto& partition : topic.partitions) {
      PartitionFetch fetch{.by_id = version >= kTopicIdVersion,
                           .topic_id = topic.topic_id,
                           .topic = std::string(topic.topic),
                           .known_as = known ? known->name : std::string(),
                           .partition = partition.partition,
                           .fetch_offset = partition.fetch_offset,
                           .log_start_offset = partition.log_start_offset,
                           .max_bytes = partition.partition_max_bytes,
                           .current_leader_epoch = partition.current_leader_epoch,
                           .last_fetched_epoch = partition.last_fetched_epoch};
      auto [place, is_first] = places.try_emplace(key_of(fetch), out.size());
      if (is_first) {
        out.push_back(std::move(fetch));
      } else {
        out[place->second] = std::move(fetch);
      }
    }
  }
  return out;
}

std::vector<SessionKey> forgotten_of(const FetchRequest& request) {
  std::vector<SessionKey> out;
  for (const auto& topic : request.forgotten_topics_data) {
    for (std::int32_t partition : topic.partitions)
      out.push_back({topic.topic_id, std::string(topic.topic), partition});
  }
  return out;
}

// Every partition has a copy of its topic's name, which no topic's is longer than.
bool has_long_name(const FetchRequest& request) {
  const auto is_long = [](const auto& topic) { return topic.topic.size() > kMaxTopicName; };
  return std::ranges::any_of(request.topics, is_long) ||
         std::ranges::any_of(request.forgotten_topics_data, is_long);
}

// What a request says about its session, settled: which partitions to serve, and which session
// remembers the answer.
struct SessionPlan {
  KafkaError error = KafkaError::kNone;
  std::vector<PartitionFetch> partitions;
  std::shared_ptr<fetch::FetchSession> session;  // of an incremental fetch
  fetch::SessionId id = fetch::kNoSession;
  bool wants_new_session = false;
};

SessionPlan plan_session(Broker& broker, const RequestContext& context,
                         const FetchRequest& request) {
  SessionPlan plan;
  if (has_long_name(request)) {
    plan.error = KafkaError::kInvalidTopicException;
    return plan;
  }
  auto image = broker.coordinator.image();
  bool is_full =
      request.session_epoch == fetch::kInitialEpoch || request.session_epoch == fetch::kFinalEpoch;
  if (is_full) {
    broker.fetch_sessions.remove(request.session_id);
    plan.partitions = partitions_of(*image, request, context.version());
    plan.wants_new_session = request.session_epoch == fetch::kInitialEpoch;
    return plan;
  }
  auto session = broker.fetch_sessions.acquire(request.session_id, request.session_epoch,
                                               context.version() >= kTopicIdVersion);
  if (!session) {
    plan.error = session.error();
    return plan;
  }
  (*session)->update(partitions_of(*image, request, context.version()), forgotten_of(request));
  if (!request.topics.empty() || !request.forgotten_topics_data.empty())
    broker.fetch_sessions.recount(request.session_id);
  if ((*session)->size() == 0) {
    broker.fetch_sessions.remove(request.session_id);
    return plan;
  }
  plan.session = *session;
  plan.id = request.session_id;
  return plan;
}

KafkaError error_for(std::int16_t version, const PartitionData& data) {
  bool is_too_new = data.error == KafkaError::kKafkaStorageError && version < kStorageErrorVersion;
  return is_too_new ? KafkaError::kNotLeaderOrFollower : data.error;
}

FetchResponse::Partition answer_of(const RequestContext& context, const FetchRequest& request,
                                   const PartitionFetch& fetch, PartitionData data) {
  FetchResponse::Partition out;
  out.partition_index = fetch.partition;
  out.error_code = error_for(context.version(), data);
  out.high_watermark = data.high_watermark;
  out.last_stable_offset = data.last_stable_offset;
  out.log_start_offset = data.log_start_offset;
  bool has_failed = out.error_code != KafkaError::kNone;
  // Null, not empty, tells that aborted transactions do not matter to the reader. Partitions that
  // do not exist have no such reader.
  bool is_unknown = out.error_code == KafkaError::kUnknownTopicOrPartition ||
                    out.error_code == KafkaError::kUnknownTopicId;
  if (!is_unknown && request.isolation_level != kReadCommitted)
    out.aborted_transactions = std::nullopt;
  if (data.diverging)
    out.diverging_epoch = {.epoch = data.diverging->epoch, .end_offset = data.diverging->offset};
  out.records = has_failed ? Chain{} : std::move(data.records);
  return out;
}

void append(FetchResponse& response, const PartitionFetch& fetch,
            FetchResponse::Partition partition) {
  bool is_new = response.responses.empty() ||
                response.responses.back().topic_id != fetch.topic_id ||
                response.responses.back().topic != fetch.topic;
  if (is_new) response.responses.push_back({.topic_id = fetch.topic_id, .topic = fetch.topic});
  response.responses.back().partitions.push_back(std::move(partition));
}

// Remembers a full answer in a new session; 0 where there is no room for one.
fetch::SessionId new_session(Broker& broker, const RequestContext& context,
                             const std::vector<PartitionFetch>& partitions,
                             const std::vector<PartitionData>& data) {
  auto session = std::make_shared<fetch::FetchSession>(context.version() >= kTopicIdVersion);
  session->update(partitions, {});
  for (std::size_t i = 0; i < partitions.size(); ++i)
    session->remember(key_of(partitions[i]), data[i]);
  return broker.fetch_sessions.create(context.client.core, std::move(session));
}

// Whether a consumer that names its zone should read from a broker there (KIP-392).
bool reads_elsewhere(const Broker& broker, const RequestContext& context, std::string_view rack) {
  if (rack.empty() || rack == broker.configs.current(context.client.core)->broker.rack)
    return false;
  return routing_for(broker, context, *broker.coordinator.image(), rack).has_zone();
}

// Where, by partition of `fetches`.
std::vector<BrokerId> preferred_brokers(const Broker& broker, const RequestContext& context,
                                        std::string_view rack,
                                        const std::vector<PartitionFetch>& fetches) {
  auto image = broker.coordinator.image();
  Routing routing = routing_for(broker, context, *image, rack);
  std::vector<BrokerId> out;
  std::map<TopicId, std::vector<BrokerId>> leaders;
  for (const PartitionFetch& fetch : fetches) {
    auto topic = fetch.by_id ? image->topic(fetch.topic_id) : image->topic(fetch.topic);
    bool is_known = routing.has_zone() && topic && topic->partition(fetch.partition) != nullptr;
    if (is_known && !leaders.contains(topic->id)) leaders[topic->id] = routing.leaders(*topic);
    out.push_back(is_known ? leaders.at(topic->id)[static_cast<std::size_t>(fetch.partition)] : -1);
  }
  return out;
}

// A broker of Kafka that copies partitions. None does here: no partition has it as a replica.
bool is_follower(const FetchRequest& request) {
  return request.replica_id >= 0 || request.replica_state.replica_id >= 0;
}

// Whether there is a partition at all stays as it is.
void refuse_follower(std::vector<PartitionData>& data) {
  for (PartitionData& one : data) {
    const bool is_known = one.error == KafkaError::kNone || one.high_watermark >= 0;
    if (is_known) one = PartitionData{.error = KafkaError::kNotLeaderOrFollower};
  }
}

// A session may have many partitions, and requests for it are small.
Task<Status> load_session(Broker& broker, RequestContext& context, SessionPlan& plan) {
  const ByteCount bytes = plan.session->size() * kPartitionWork;
  if (!WorkMemory::is_little(bytes) && bytes > context.work.bytes) {
    context.work = {};
    WEIR_CO_TRY(context.work, co_await broker.work.reserve(bytes, context.closed));
  }
  plan.partitions = plan.session->partitions();
  co_return Status{};
}

Task<FetchResponse> fetch_records(Broker& broker, RequestContext& context,
                                  const FetchRequest& request) {
  FetchResponse response;
  SessionPlan plan = plan_session(broker, context, request);
  // Nobody reads the answer where the connection is closed.
  if (plan.session && !co_await load_session(broker, context, plan))
    plan.error = KafkaError::kFetchSessionIdNotFound;
  if (plan.error != KafkaError::kNone) {
    response.error_code = plan.error;
    co_return response;
  }
  auto max_bytes = static_cast<ByteCount>(
      std::max(std::min(request.max_bytes,
                        broker.configs.current(context.client.core)->broker.fetch.max_bytes),
               0));
  auto min_bytes = std::min(static_cast<ByteCount>(std::max(request.min_bytes, 0)), max_bytes);
  bool is_elsewhere = reads_elsewhere(broker, context, request.rack_id);
  fetch::FetchOptions options{
      .look_only = is_elsewhere || is_follower(request),
      .core = context.client.core,
      .max_wait = std::chrono::milliseconds(std::max(request.max_wait_ms, 0)),
      .min_bytes = min_bytes,
      .max_bytes = max_bytes,
      .closed = context.closed};
  // One with many partitions does not keep others from its memory while it waits.
  if (context.work.reservation) options.hurry = [&broker] { return broker.work.waiting() > 0; };
  if (is_follower(request)) options.max_wait = {};
  std::vector<PartitionData> data =
      co_await broker.fetcher.fetch(plan.partitions, std::move(options));
  if (is_follower(request)) refuse_follower(data);
  std::vector<BrokerId> preferred;
  if (is_elsewhere)
    preferred = preferred_brokers(broker, context, request.rack_id, plan.partitions);
  response.session_id = plan.id;
  if (plan.wants_new_session)
    response.session_id = new_session(broker, context, plan.partitions, data);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const PartitionFetch& fetch = plan.partitions[i];
    bool must_answer = !plan.session || plan.session->must_answer(key_of(fetch), data[i]);
    if (!must_answer && preferred.empty()) continue;
    auto answer = answer_of(context, request, fetch, std::move(data[i]));
    bool is_readable = answer.error_code == KafkaError::kNone;
    if (!preferred.empty() && is_readable) answer.preferred_read_replica = preferred[i];
    append(response, fetch, std::move(answer));
  }
  co_return response;
}

ByteCount records_of(const FetchResponse& response) {
  ByteCount bytes = 0;
  for (const auto& topic : response.responses) {
    for (const auto& partition : topic.partitions)
      bytes += partition.records ? partition.records->size() : 0;
  }
  return bytes;
}

Task<PendingAnswer> start_fetch(Broker& broker, RequestContext context, Slice body) {
  auto request = kafka::decode<FetchRequest>(body, context.version());
  if (!request) co_return answered(std::unexpected(request.error()));
  const FetchResponse response = co_await fetch_records(broker, context, *request);
  Answer answer = answer_with(context, response);
  const ByteCount records = records_of(response);
  if (!hold(broker, context, answer, records))
    answer = co_await hold_later(broker, context, std::move(answer), records);
  co_return answered(std::move(answer));
}

}  // namespace

const ApiHandler kFetchApi{kafka::ApiKey::kFetch, &start_fetch};

}  // namespace weir::broker

#include "main/serving.h"

#include "metadata/live_owner.h"
#include "runtime/log.h"

#include <functional>

namespace weir {
namespace {

// Kafka's producer.id.expiration.check.interval.ms.
constexpr Duration kProducerCheckInterval = std::chrono::minutes(10);
// How often deletable objects are looked for.
constexpr Duration kDeleteInterval = std::chrono::seconds(10);

produce::FlushLimits flush_limits(const config::AppendConfig& config) {
  produce::FlushLimits limits;
  limits.buffer_max = config.buffer_max_bytes;
  limits.interval = std::chrono::milliseconds(config.commit_interval_ms);
  limits.max_uploads = static_cast<std::size_t>(config.upload_max_inflight);
  limits.early_puts_per_second = config.early_puts_per_second;
  return limits;
}

// A quarter of the budget that is not the cache's: for answers to fetches.
ByteCount answer_memory(const config::BrokerConfig& config) {
  return (config.memory_budget_bytes - config.cache_max_bytes) / 4;
}

// Another quarter is for everything else: of it, what requests become that are long lists.
ByteCount work_memory(const config::BrokerConfig& config) { return answer_memory(config); }

// The parts of the whole budget that fetch sessions, and the members of groups, may take.
constexpr ByteCount kSessionsPart = 16;
constexpr ByteCount kMembersPart = 16;

groups::GroupLimits group_limits(const config::GroupLimits& config, ByteCount memory) {
  groups::GroupLimits limits;
  limits.initial_rebalance_delay = std::chrono::milliseconds(config.initial_rebalance_delay_ms);
  limits.min_session_timeout_ms = config.min_session_timeout_ms;
  limits.max_session_timeout_ms = config.max_session_timeout_ms;
  limits.max_size = static_cast<std::size_t>(config.max_size);
  limits.members_max_bytes = memory / kMembersPart;
  limits.offset_metadata_max_bytes = static_cast<std::size_t>(config.offset_metadata_max_bytes);
  limits.offsets_retention_ms = config.offsets_retention_ms;
  limits.offsets_check_interval =
      std::chrono::milliseconds(config.offsets_retention_check_interval_ms);
  return limits;
}

compaction::Retention::RuleOf rule_of(broker::Configs& configs) {
  return [&configs](const std::shared_ptr<const metadata::TopicImage>& topic)
             -> std::optional<compaction::RetentionRule> {
    auto rules = configs.of(0, topic);
    if (!rules->config().delete_old) return std::nullopt;
    return compaction::RetentionRule{.ms = rules->config().retention_ms,
                                     .bytes = rules->config().retention_bytes};
  };
}

}  // namespace

Serving::Serving(ServingParts given)
    : parts_(std::move(given)),
      cache_(parts_.store, parts_.metrics, {.capacity = parts_.config.cache_max_bytes},
             std::bind_front(check_writer, parts_.coordinator.image()->cluster_id)),
      objects_(cache_),
      pipeline_({.coordinator = parts_.coordinator,
                 .store = parts_.store,
                 .written = objects_,
                 .clock = parts_.clock,
                 .executor = parts_.executor,
                 .metrics = parts_.metrics,
                 .cluster_id = parts_.coordinator.image()->cluster_id,
                 .first_sequence = produce::draw_first_sequence(parts_.rng)},
                parts_.cores.size(), flush_limits(parts_.config.append)),
      fetch_memory_(answer_memory(parts_.config)),
      fetcher_(parts_.coordinator, objects_, parts_.waiters, fetch_memory_, parts_.clock,
               parts_.metrics),
      sessions_(parts_.cores.size(),
                {.slots = static_cast<std::size_t>(parts_.config.fetch.max_sessions),
                 .bytes_max = parts_.config.memory_budget_bytes / kSessionsPart},
                parts_.clock, Rng(parts_.rng.next())),
      lookup_(objects_),
      groups_(parts_.coordinator, parts_.config.node_id, parts_.clock, parts_.cores.front(),
              group_limits(parts_.config.groups, parts_.config.memory_budget_bytes),
              Rng(parts_.rng.next())),
      ids_(parts_.coordinator, Rng(parts_.rng.next())),
      retention_(parts_.coordinator, rule_of(parts_.configs), parts_.clock, parts_.metrics),
      deleter_(parts_.coordinator, parts_.store, parts_.clock,
               std::chrono::milliseconds(parts_.config.object_delete_grace_ms), parts_.metrics),
      orphans_(parts_.coordinator, parts_.store, parts_.clock,
               {.self = parts_.config.node_id,
                .cluster_id = parts_.coordinator.image()->cluster_id,
                .grace = std::chrono::milliseconds(parts_.config.orphan_grace_ms)},
               parts_.metrics),
      work_memory_(work_memory(parts_.config)),
      broker_{.node_id = parts_.config.node_id,
              .clock = parts_.clock,
              .coordinator = parts_.coordinator,
              .configs = parts_.configs,
              .work = work_memory_,
              .ids = ids_,
              .stage = pipeline_.stage(),
              .fetcher = fetcher_,
              .fetch_sessions = sessions_,
              .offset_lookup = lookup_,
              .groups = groups_,
              .shared_log = parts_.shared_log,
              .tasks = answers_},
      dispatcher_(broker_) {
  parts_.coordinator.add_listener(groups_);
}

Task<Status> Serving::start() {
  WEIR_CO_CHECK(co_await groups_.start());
  pipeline_.start();
  Executor executor = parts_.executor;
  background_.spawn(
      executor, retention_.run(background_,
                               std::chrono::milliseconds(parts_.config.retention_check_interval_ms),
                               parts_.config.node_id));
  background_.spawn(executor, deleter_.run(background_, kDeleteInterval, parts_.config.node_id));
  background_.spawn(
      executor,
      orphans_.run(background_, std::chrono::milliseconds(parts_.config.orphan_scan_interval_ms)));
  background_.spawn(executor, expire_producers());
  co_return Status{};
}

Task<void> Serving::expire_producers() {
  while (co_await background_.sleep(parts_.clock, kProducerCheckInterval)) {
    auto owner = metadata::live_owner(*parts_.coordinator.image(), "expiry of producers");
    if (owner != parts_.config.node_id) continue;
    auto expired = co_await parts_.coordinator.submit(
        metadata::ExpireProducers{.expiration_ms = parts_.config.producer_id_expiration_ms});
    if (!expired) log::warn("producers.expire.failed", {{"error", expired.error()}});
  }
}

Task<void> Serving::end_waits() {
  fetcher_.stop_waiting();
  pipeline_.hurry();
  co_await groups_.stop();
}

Task<void> Serving::stop() {
  background_.stop();
  co_await pipeline_.drain();
  co_await answers_.join();
  co_await background_.join();
}

}  // namespace weir

#include "main/broker_process.h"

#include "broker/kafka_handler.h"
#include "main/sequencing.h"
#include "main/serving.h"
#include "main/urls.h"
#include "metadata/log/delayed_log.h"
#include "metadata/log/open_metadata_log.h"
#include "metadata/log_coordinator.h"
#include "metadata/store_claim.h"
#include "net/framed_server.h"
#include "runtime/allocator.h"
#include "runtime/executors.h"
#include "runtime/log.h"
#include "storage/delayed_store.h"
#include "storage/file_folders.h"
#include "storage/hedging_store.h"
#include "storage/metered_store.h"
#include "storage/open_object_store.h"
#include "storage/paced_store.h"
#include "storage/retrying_store.h"
#include "storage/watched_store.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <filesystem>

namespace weir {
namespace {

// For files and SQLite; a PUT waits for the disk most of its time.
constexpr std::size_t kBlockingThreads = 8;
// How long connections may take to finish what they asked for when the broker stops.
constexpr Duration kDrainPatience = std::chrono::seconds(10);
// How long a broker that stops tries again what its store does not take. With one more attempt it
// is gone within the 30 s that most supervisors give.
constexpr Duration kStorePatience = std::chrono::seconds(10);
constexpr Duration kStartRetry = std::chrono::seconds(1);
constexpr Duration kMemoryCheck = std::chrono::milliseconds(100);

net::ConnectionLimits connection_limits(const config::ConnectionConfig& config) {
  net::ConnectionLimits limits;
  limits.frame.size_max = config.max_request_bytes;
  limits.idle = std::chrono::milliseconds(config.max_idle_ms);
  return limits;
}

std::vector<Executor> cores_of(Executors& executors) {
  std::vector<Executor> cores;
  for (std::size_t i = 0; i < executors.cores(); ++i) cores.push_back(executors.core(i));
  return cores;
}

std::uint64_t connection_slots(const config::ConnectionConfig& config) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(config.max_connections, 1));
}

metadata::SnapshotterOptions snapshot_options(const config::MetadataConfig& metadata) {
  return {.log_bytes = static_cast<ByteCount>(metadata.snapshot_after_bytes),
          .log_entries = static_cast<std::uint64_t>(metadata.snapshot_after_entries),
          .interval = std::chrono::milliseconds(metadata.snapshot_after_ms)};
}

void delay_store(const config::LatencyConfig& latency, Clock& clock, Rng rng,
                 std::unique_ptr<storage::ObjectStore>& store) {
  if (latency.put.p50 == Duration::zero() && latency.get.p50 == Duration::zero()) return;
  store = std::make_unique<storage::DelayedStore>(
      std::move(store), clock, storage::StoreLatency{.put = latency.put, .get = latency.get}, rng);
}

void delay_log(const config::LatencyConfig& latency, Clock& clock, Rng rng,
               std::unique_ptr<metadata::MetadataLog>& log) {
  if (latency.append.p50 == Duration::zero()) return;
  log = std::make_unique<metadata::DelayedLog>(std::move(log), clock, latency.append, rng);
}

// As that of the default store is made. A path that somebody wrote may lie on a disk that is not
// mounted.
Status make_folder_of_default_log(std::string_view url) {
  constexpr std::string_view kFile = "sqlite:";
  if (url != config::find_key(config::Scope::kBroker, "metadata.log.url")->default_text) return {};
  const std::filesystem::path path(url.substr(kFile.size()));
  return storage::make_path(path.parent_path().string());
}

metadata::MembershipOptions membership_options(const config::MetadataConfig& config) {
  return {.session_timeout = std::chrono::milliseconds(config.session_timeout_ms),
          .heartbeat_interval = std::chrono::milliseconds(config.heartbeat_interval_ms)};
}

}  // namespace

struct BrokerProcess::Parts {
  Parts(LoadedConfig loaded, MetricsRegistry& registry,
        std::unique_ptr<storage::ObjectStore> opened_store, std::unique_ptr<Executors> threads,
        std::unique_ptr<SystemClock> system_clock)
      : config(std::move(loaded)),
        clock(std::move(system_clock)),
        metrics(registry),
        executors(std::move(threads)),
        raw_store(std::move(opened_store)),
        metered_store(*raw_store, *clock, metrics),
        watched_store(metered_store, *clock),
        paced_store(watched_store, metrics),
        hedging_store(paced_store, *clock, metrics,
                      storage::hedge_policy(config.broker.object_store_url)),
        store(hedging_store, *clock, Rng::from_entropy(), {}),
        memory(config::request_memory(config.broker)),
        slots(connection_slots(config.broker.connections)),
        cores(cores_of(*executors)),
        handler(cores, metrics, *clock),
        waiters(cores.size()) {}

  LoadedConfig config;
  std::unique_ptr<SystemClock> clock;
  MetricsRegistry& metrics;
  std::unique_ptr<Executors> executors;
  std::unique_ptr<storage::ObjectStore> raw_store;
  storage::MeteredStore metered_store;
  storage::WatchedStore watched_store;
  storage::PacedStore paced_store;
  storage::HedgingStore hedging_store;
  storage::RetryingStore store;
  std::unique_ptr<Sequencing> sequencing;      // with a log in the object store, after open_log()
  std::unique_ptr<metadata::MetadataLog> log;  // after open_log()
  std::optional<metadata::SnapshotStore> snapshots;
  std::optional<metadata::StoreClaim> claim;
  ByteBudget memory;
  ByteBudget slots;
  std::vector<Executor> cores;
  broker::KafkaHandler handler;
  fetch::Waiters waiters;
  std::vector<std::unique_ptr<net::FramedServer>> servers;
  std::unique_ptr<metadata::LogCoordinator> coordinator;
  std::unique_ptr<broker::Configs> configs;
  std::unique_ptr<Serving> serving;
  std::atomic<bool> is_serving = false;
  std::atomic<bool> was_ready = false;
  bool has_failed = false;  // of the coordinator's executor
  std::atomic<const metadata::LogCoordinator*> started_coordinator = nullptr;
  OneShot<Error> failure;
  TaskGroup tasks;
  TaskGroup closing;   // of listeners and connections
  TaskGroup patience;  // with the store, of a broker that stops

  Status open_log();
  Status listen();
  [[nodiscard]] Status readiness() const;
  void make_coordinator();
  Task<void> become_ready();
  Task<void> watch_failure();
  void close_connections(Duration most);
  Task<void> watch_memory();
  Task<void> lose_patience();
  Task<Status> take_over();
};

// A log in the store pays for its requests, too, so they are counted with the others. It has its
// own way of trying again.
Status BrokerProcess::Parts::open_log() {
  WEIR_CHECK(make_folder_of_default_log(config.broker.metadata.log_url.reveal()));
  WEIR_TRY(log,
           metadata::open_metadata_log(config.broker.metadata.log_url.reveal(), *clock,
                                       {.allow_unsafe = config.broker.metadata.log_allow_unsafe,
                                        .store = &metered_store,
                                        .executor = executors->coordinator(),
                                        .store_url = config.broker.object_store_url}));
  if (metadata::is_log_in_store(config.broker.metadata.log_url.reveal())) {
    WEIR_TRY(sequencing,
             Sequencing::open(config.broker.node_id, config.broker.inter_broker_listener, *clock,
                              executors->coordinator()));
    log = sequencing->wrap(std::move(log), metrics);
  }
  delay_log(config.broker.dev_latency, *clock, Rng(config.broker.dev_latency.seed + 1), log);
  snapshots.emplace(store, *log);
  // It tries again itself, and says at once why it must.
  claim.emplace(*log, hedging_store,
                metadata::StoreClaimNames{.log = shown_url(config.broker.metadata.log_url.reveal()),
                                          .store = shown_url(config.broker.object_store_url)},
                *clock, Rng::from_entropy());
  return {};
}

Status BrokerProcess::Parts::listen() {
  const net::ConnectionLimits limits = connection_limits(config.broker.connections);
  net::FramedServerServices services{
      .clock = *clock, .memory = memory, .slots = slots, .handler = handler, .metrics = metrics};
  for (config::Listener& listener : config.broker.listeners) {
    auto server = std::make_unique<net::FramedServer>(listener.name, cores, services, limits);
    Status started = server->start({.host = listener.bind.host, .port = listener.bind.port});
    servers.push_back(std::move(server));
    if (!started) return std::unexpected(started.error().in("listener " + listener.name));
    listener.bind.port = servers.back()->port();
    if (listener.advertised.port == 0) listener.advertised.port = servers.back()->port();
    log::info("listener.open", {{"listener", listener.name},
                                {"host", listener.bind.host},
                                {"port", servers.back()->port()},
                                {"advertised_host", listener.advertised.host},
                                {"advertised_port", listener.advertised.port}});
  }
  return {};
}

Status BrokerProcess::Parts::readiness() const {
  if (Status claimed = claim->status(); !claimed) return claimed;
  const metadata::LogCoordinator* started = started_coordinator;
  if (started != nullptr) WEIR_CHECK(started->status());
  WEIR_CHECK(watched_store.status());
  if (is_serving) return {};
  return fail(ErrorCode::kUnavailable, "the broker starts or stops");
}

void BrokerProcess::Parts::make_coordinator() {
  metadata::LogCoordinatorOptions options{.broker_id = config.broker.node_id,
                                          .endpoints = {},
                                          .rack = config.broker.rack,
                                          .appender = {},
                                          .snapshots = snapshot_options(config.broker.metadata),
                                          .membership = membership_options(config.broker.metadata),
                                          .metrics = &metrics};
  for (const config::Listener& listener : config.broker.listeners) {
    options.endpoints.push_back({.listener = listener.name,
                                 .host = listener.advertised.host,
                                 .port = listener.advertised.port,
                                 .protocol = "PLAINTEXT"});
  }
  coordinator = std::make_unique<metadata::LogCoordinator>(
      *log, &*snapshots, *clock, Rng::from_entropy(), executors->coordinator(),
      executors->blocking(), std::move(options));
  configs = std::make_unique<broker::Configs>(config.layers, config.broker, config.machine,
                                              config.permissions, *coordinator, cores.size());
  coordinator->add_listener(*configs);
  coordinator->add_listener(waiters);
  if (sequencing) sequencing->watch(*coordinator);
}

// The budget counts what is in use; what malloc keeps for the next buffers must not come on top.
Task<void> BrokerProcess::Parts::watch_memory() {
  GiveBackRule rule(config.broker.memory_budget_bytes);
  while (co_await tasks.sleep(*clock, kMemoryCheck)) {
    if (!rule.due(resident_bytes(), clock->now())) continue;
    give_back_free_memory();
    rule.gave_back(resident_bytes(), clock->now());
  }
}

Task<void> BrokerProcess::Parts::lose_patience() {
  if (co_await patience.sleep(*clock, kStorePatience)) store.stop();
}

Task<void> BrokerProcess::Parts::become_ready() {
  // Nothing is written or deleted before it is known that the store belongs to the log.
  Status claimed = co_await claim->run(tasks);
  if (!claimed) failure.set(claimed.error());
  if (!claimed || tasks.stopping()) co_return;
  coordinator->start();
  started_coordinator = coordinator.get();
  Status registered = co_await coordinator->wait_registered();
  if (!registered || tasks.stopping()) co_return;
  serving = std::make_unique<Serving>(
      ServingParts{.config = config.broker,
                   .clock = *clock,
                   .rng = Rng::from_entropy(),
                   .metrics = metrics,
                   .cores = cores,
                   .executor = executors->coordinator(),
                   .store = store,
                   .coordinator = *coordinator,
                   .shared_log = sequencing ? &sequencing->shared_log() : nullptr,
                   .configs = *configs,
                   .waiters = waiters});
  while (true) {
    Status started = co_await serving->start();
    if (started) break;
    log::warn("broker.start.retry", {{"error", started.error()}});
    if (!co_await tasks.sleep(*clock, kStartRetry)) co_return;
  }
  if (has_failed) co_return;
  handler.open(serving->dispatcher());
  is_serving = true;
  was_ready = true;
  log::info("broker.ready", {{"node_id", config.broker.node_id},
                             {"cluster_id", coordinator->image()->cluster_id},
                             {"epoch", coordinator->broker_epoch()}});
}

// Nothing that was applied may be told to anybody any more, not even to those who wait.
Task<void> BrokerProcess::Parts::watch_failure() {
  Error error = co_await coordinator->failed();
  has_failed = true;
  is_serving = false;
  handler.close();
  if (error.code != ErrorCode::kCancelled) close_connections(Duration::zero());
  failure.set(std::move(error));
}

// Those that have not ended after `most` are cut off.
void BrokerProcess::Parts::close_connections(Duration most) {
  for (auto& server : servers) closing.spawn(executors->coordinator(), server->drain(most));
}

BrokerProcess::BrokerProcess(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

BrokerProcess::~BrokerProcess() {
  if (parts_) parts_->executors->stop();
}

Result<std::unique_ptr<BrokerProcess>> BrokerProcess::open(LoadedConfig config,
                                                           MetricsRegistry& metrics) {
  auto clock = std::make_unique<SystemClock>();
  auto executors = std::make_unique<Executors>(config.broker.connections.threads, kBlockingThreads);
  WEIR_TRY(auto store, storage::open_object_store(config.broker.object_store_url, *clock,
                                                  executors->blocking()));
  delay_store(config.broker.dev_latency, *clock, Rng(config.broker.dev_latency.seed), store);
  auto parts = std::make_unique<Parts>(std::move(config), metrics, std::move(store),
                                       std::move(executors), std::move(clock));
  auto process = std::unique_ptr<BrokerProcess>(new BrokerProcess(std::move(parts)));
  WEIR_CHECK(process->parts_->open_log());
  return process;
}

Status BrokerProcess::start() {
  WEIR_CHECK(parts_->listen());
  parts_->make_coordinator();
  parts_->tasks.spawn(parts_->executors->coordinator(), parts_->watch_failure());
  parts_->tasks.spawn(parts_->executors->coordinator(), parts_->become_ready());
  parts_->tasks.spawn(parts_->executors->blocking(), parts_->watch_memory());
  return {};
}

Task<Error> BrokerProcess::failed() { return parts_->failure.wait(); }

Status BrokerProcess::readiness() const { return parts_->readiness(); }
bool BrokerProcess::was_ready() const { return parts_->was_ready; }
ByteCount BrokerProcess::used_request_memory() const { return parts_->memory.used(); }
const LoadedConfig& BrokerProcess::config() const { return parts_->config; }

Task<void> BrokerProcess::stop(Manner manner) {
  const bool in_order = manner == Manner::kInOrder;
  log::info("broker.stopping", {});
  parts_->is_serving = false;
  parts_->tasks.stop();
  if (parts_->coordinator) parts_->coordinator->hurry();
  parts_->store.stop_reads();
  if (in_order) {
    parts_->patience.spawn(parts_->executors->coordinator(), parts_->lose_patience());
  } else {
    parts_->handler.close();
    parts_->store.stop();
    parts_->close_connections(Duration::zero());
  }
  // Connections take no more requests; waits for data, for objects and for rebalances end, so that
  // they can answer what they have, and close.
  if (in_order) parts_->close_connections(kDrainPatience);
  if (parts_->serving) co_await parts_->serving->end_waits();
  co_await parts_->closing.join();
  co_await parts_->handler.join();
  if (parts_->serving) co_await parts_->serving->stop();
  if (parts_->coordinator) co_await parts_->coordinator->stop();
  co_await parts_->tasks.join();
  // A failure that was seen only now has closed connections, too.
  co_await parts_->closing.join();
  co_await parts_->log->stop();
  parts_->patience.stop();
  co_await parts_->patience.join();
  parts_->store.stop();
  co_await parts_->hedging_store.join();
  parts_->failure.set({ErrorCode::kCancelled, "the broker was stopped"});
  log::info("broker.stopped", {});
}

}  // namespace weir

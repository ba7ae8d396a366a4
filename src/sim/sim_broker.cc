#include "sim/sim_broker.h"

#include "config/sources.h"
#include "runtime/log.h"

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

namespace weir::sim {
namespace {

using std::chrono::milliseconds;

const config::Machine kMachine{.host_name = "sim", .cores = 1};

template <typename T>
T checked(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "the simulation is wrong: {}\n", result.error().to_string());
    std::abort();
  }
  return std::move(*result);
}

metadata::LogCoordinatorOptions coordinator_options(const config::BrokerConfig& config,
                                                    const NodeLimits& limits,
                                                    std::uint64_t process) {
  metadata::LogCoordinatorOptions options{.broker_id = config.node_id,
                                          .endpoints = {},
                                          .rack = config.rack,
                                          .appender = limits.appender,
                                          .snapshots = {},
                                          .incarnations = Rng(process)};
  options.endpoints.push_back({.listener = "PLAINTEXT",
                               .host = "sim",
                               .port = 9000 + config.node_id,
                               .protocol = "PLAINTEXT"});
  options.snapshots.log_entries =
      static_cast<std::uint64_t>(config.metadata.snapshot_after_entries);
  options.membership = {.session_timeout = milliseconds(config.metadata.session_timeout_ms),
                        .heartbeat_interval = milliseconds(config.metadata.heartbeat_interval_ms),
                        .return_time = milliseconds(config.metadata.session_timeout_ms / 4)};
  return options;
}

}  // namespace

ServerConnection::ServerConnection(Executor executor, std::function<void()> on_answer)
    : executor_(std::move(executor)), on_answer_(std::move(on_answer)) {
  client_.listener = "PLAINTEXT";
  client_.peer_address = "127.0.0.1";
}

void ServerConnection::send(broker::Dispatcher& dispatcher, Slice frame, Reply reply) {
  if (closed_.stop_requested()) {
    reply.set(fail(ErrorCode::kUnavailable, "the connection is closed"));
    return;
  }
  queue_.push_back({&dispatcher, std::move(frame), std::move(reply)});
  if (is_running_) return;
  is_running_ = true;
  tasks_.spawn(executor_, run());
}

Task<void> ServerConnection::run() {
  while (!queue_.empty()) {
    Sent next = std::move(queue_.front());
    queue_.erase(queue_.begin());
    open_.push_back(next.reply);
    starting_ = static_cast<int>(next.frame.data()[1]);
    auto answer = co_await next.dispatcher->start(std::move(next.frame), nullptr, client_,
                                                  closed_.get_token());
    starting_ = -1;
    bool is_refused = false;
    answer.peek([&](const auto& set) { is_refused = !set; });
    tasks_.spawn(executor_, deliver(std::move(answer), next.reply));
    if (is_refused) close();
  }
  is_running_ = false;
}

Task<void> ServerConnection::deliver(broker::PendingAnswer pending, Reply reply) {
  auto answer = co_await pending.wait();
  if (closed_.stop_requested()) co_return;
  on_answer_();
  if (!answer) {
    reply.set(std::unexpected(answer.error()));
  } else if (*answer) {
    reply.set((*answer)->flatten().sub(sizeof(std::int32_t)));
  } else {
    reply.set(Slice());
  }
  std::erase_if(open_, [](const Reply& one) { return one.is_set(); });
}

void ServerConnection::close() {
  closed_.request_stop();
  const Error gone{ErrorCode::kUnavailable, "the connection is closed"};
  for (Reply& reply : open_) reply.set(std::unexpected(gone));
  for (Sent& sent : queue_) sent.reply.set(std::unexpected(gone));
  open_.clear();
  queue_.clear();
}

std::string ServerConnection::state() const {
  return fmt::format("{} tasks, starting API {}", tasks_.running(), starting_);
}

SimProcess::SimProcess(Outside outside, std::uint64_t number, Machine& machine,
                       config::BrokerLayers layers, config::BrokerConfig config, NodeLimits limits,
                       std::function<void(const Error&)> on_failed)
    : outside_(outside),
      number_(number),
      machine_(machine),
      layers_(std::move(layers)),
      config_(std::move(config)),
      raw_store_(outside, {config_.node_id, number, machine.clock()}),
      store_(raw_store_, machine.clock(), outside.world.fork(), limits.retries),
      shared_log_(outside, {config_.node_id, number, machine.clock()}),
      store_log_(outside.log_in_store
                     ? std::make_unique<StoreLog>(outside, raw_store_, machine, config_.node_id)
                     : nullptr),
      log_(store_log_ ? store_log_->log() : shared_log_),
      snapshots_(store_, log_),
      claim_(log_, store_, {.log = "simulated", .store = "simulated"}, machine.clock(),
             outside.world.fork()),
      on_failed_(std::move(on_failed)) {
  if (limits.offsets_retention_ms)
    config_.groups.offsets_retention_ms = *limits.offsets_retention_ms;
  if (limits.memory_bytes) config_.memory_budget_bytes = *limits.memory_bytes;
  coordinator_ = std::make_unique<metadata::LogCoordinator>(
      log_, &snapshots_, machine.clock(), outside.world.fork(), machine.executor(),
      machine.executor(), coordinator_options(config_, limits, number));
  configs_ = std::make_unique<broker::Configs>(layers_, config_, kMachine,
                                               config::Permissions{true}, *coordinator_, 1);
  coordinator_->add_listener(*configs_);
  coordinator_->add_listener(waiters_);
  if (store_log_) store_log_->watch(*coordinator_);
}

SimProcess::~SimProcess() = default;

void SimProcess::start() {
  tasks_.spawn(machine_.executor(), watch_failure());
  tasks_.spawn(machine_.executor(), run());
}

// As src/main/broker_process.cc does.
Task<void> SimProcess::watch_failure() {
  Error error = co_await coordinator_->failed();
  is_ready_ = false;
  if (error.code == ErrorCode::kCancelled) co_return;
  failure_ = error;
  for (auto& connection : connections_) connection->close();
  on_failed_(error);
}

void SimProcess::look_at_answer() {
  const Status status = coordinator_->status();
  if (status || status.error().code != ErrorCode::kCorrupt) return;
  // Of a log that damages what it answers: it is read again.
  if (status.error().message.starts_with("the metadata log is down")) return;
  const MonoTime now = outside_.world.now();
  if (!known_lost_) known_lost_ = now;
  if (now > *known_lost_) outside_.witness.answered_from_lost_history(config_.node_id);
}

Task<void> SimProcess::run() {
  Status claimed = co_await claim_.run(tasks_);
  if (tasks_.stopping()) co_return;
  if (!claimed) {
    failure_ = claimed.error();
    co_return;
  }
  coordinator_->start();
  Status registered = co_await coordinator_->wait_registered();
  if (!registered || tasks_.stopping()) co_return;
  serving_ = std::make_unique<Serving>(
      ServingParts{.config = config_,
                   .clock = machine_.clock(),
                   .rng = outside_.world.fork(),
                   .metrics = metrics_,
                   .cores = {machine_.executor()},
                   .executor = machine_.executor(),
                   .store = store_,
                   .coordinator = *coordinator_,
                   .shared_log = store_log_ ? &store_log_->shared_log() : nullptr,
                   .configs = *configs_,
                   .waiters = waiters_});
  while (!tasks_.stopping()) {
    if (co_await serving_->start()) break;
    co_await tasks_.sleep(machine_.clock(), milliseconds(500));
  }
  is_ready_ = !tasks_.stopping() && !failure_;
}

std::shared_ptr<ServerConnection> SimProcess::connect() {
  if (!is_ready_) return nullptr;
  return connections_.emplace_back(
      std::make_shared<ServerConnection>(machine_.executor(), [this] { look_at_answer(); }));
}

void SimProcess::cut() {
  is_ready_ = false;
  raw_store_.cut();
  shared_log_.cut();
  if (store_log_) store_log_->cut();
  for (auto& connection : connections_) connection->close();
}

void SimProcess::stop() {
  is_ready_ = false;
  tasks_.stop();
  boost::asio::co_spawn(machine_.executor(), end(), [this](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
    has_ended_ = true;
  });
}

Task<void> SimProcess::end() {
  step_ = "ends waits";
  coordinator_->hurry();
  store_.stop_reads();
  if (failure_) store_.stop();
  if (serving_) co_await serving_->end_waits();
  step_ = "closes connections";
  for (auto& connection : connections_) {
    connection->close();
    co_await connection->join();
  }
  step_ = "stops serving";
  if (serving_) co_await serving_->stop();
  step_ = "stops the coordinator";
  co_await coordinator_->stop();
  step_ = "joins tasks";
  store_.stop();
  co_await tasks_.join();
  co_await log_.stop();
}

std::vector<MemoryUse> SimProcess::memory(bool is_idle) const {
  if (!serving_) return {};
  std::vector<MemoryUse> uses{{.broker = config_.node_id,
                               .used = serving_->reserved_memory(),
                               .limit = serving_->reserved_memory_limit(),
                               .is_idle = is_idle}};
  // What an entry costs beside its bytes matters to the smallest caches only.
  constexpr ByteCount kOverhead = 64_KiB;
  uses.push_back({.broker = config_.node_id,
                  .used = serving_->cached_bytes(),
                  .limit = config_.cache_max_bytes + kOverhead});
  return uses;
}

SimNode::SimNode(Outside outside, BrokerId id, std::vector<std::string> sets, NodeLimits limits,
                 double rate)
    : outside_(outside),
      id_(id),
      machine_(outside.world.add_machine(
          rate, static_cast<std::int64_t>(outside.world.fork().below(2000)) - 1000)),
      sets_(std::move(sets)),
      limits_(limits),
      rng_(outside.world.fork()),
      rests_(milliseconds(500), std::chrono::seconds(30)) {
  sets_.push_back(fmt::format("node.id={}", id));
}

void SimNode::start() {
  is_wanted_ = true;
  if (!process_) launch();
}

void SimNode::launch() {
  auto settings = checked(config::merge_sources({.file = {}, .environment = {}, .sets = sets_}));
  auto layers = checked(config::make_layers(std::move(settings), kMachine));
  auto config = checked(config::make_broker_config(layers, kMachine, config::Permissions{true}));
  constexpr std::uint64_t kProcesses = 1'000'000;  // of one node, at most
  const std::uint64_t number = static_cast<std::uint64_t>(id_) * kProcesses + ++processes_;
  outside_.world.tell("", [&] { return fmt::format("broker {} starts, process {}", id_, number); });
  process_ = std::make_shared<SimProcess>(
      outside_, number, machine_, std::move(layers), std::move(config), limits_,
      [this, number](const Error& error) { on_failed(number, error); });
  number_ = number;
  process_->start();
}

void SimNode::on_failed(std::uint64_t number, const Error& error) {
  if (!metadata::may_start_anew(error)) return;
  outside_.witness.diverged(id_, error);
  if (process_ && number == number_) starting_.spawn(machine_.executor(), start_anew(process_));
}

// As src/main/run_broker.cc does.
Task<void> SimNode::start_anew(std::shared_ptr<SimProcess> failed) {
  if (process_ != failed) co_return;
  end_process();
  const MonoTime rested = machine_.clock().now() + rests_.next(rng_);
  while (is_wanted_ && !process_ && (!failed->ended() || machine_.clock().now() < rested))
    co_await machine_.clock().sleep(milliseconds(50));
  if (is_wanted_ && !process_) launch();
}

void SimNode::kill() {
  is_wanted_ = false;
  if (!process_) return;
  outside_.world.note("kill", static_cast<std::uint64_t>(id_));
  outside_.world.tell("", [&] { return fmt::format("broker {} is killed", id_); });
  process_->cut();
  end_process();
}

void SimNode::stop() {
  is_wanted_ = false;
  end_process();
}

void SimNode::end_process() {
  if (!process_) return;
  process_->stop();
  ending_.push_back(std::exchange(process_, nullptr));
}

std::string SimProcess::step() const {
  std::string text = step_;
  for (const auto& connection : connections_) {
    const std::string state = connection->state();
    if (!state.starts_with("0 ")) text += fmt::format(" ({})", state);
  }
  return text;
}

std::string SimNode::state() const {
  std::string text = process_ ? "runs" : "is down";
  for (const auto& process : ending_) {
    if (!process->ended()) text += ", one " + process->step();
  }
  return text;
}

bool SimNode::quiet() {
  std::erase_if(ending_, [](const auto& process) { return process->ended(); });
  return ending_.empty() && !process_ && starting_.running() == 0;
}

}  // namespace weir::sim

// A node of the simulation: a machine and the broker process on it, which is the real code of
// src/main/serving.h on a simulated store, log and clock. A kill cuts the process off from
// everything outside at once; what is left of it ends by itself, unseen.
#pragma once
#include "config/broker_config.h"
#include "main/serving.h"
#include "metadata/log_coordinator.h"
#include "metadata/store_claim.h"
#include "runtime/backoff.h"
#include "sim/sim_log.h"
#include "sim/sim_store.h"
#include "sim/store_log.h"
#include "storage/retrying_store.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

namespace weir::sim {

// Limits that have no key in the configuration, or are less than it can say.
struct NodeLimits {
  metadata::AppenderOptions appender;
  storage::RetryPolicy retries;
  std::optional<std::int64_t> offsets_retention_ms;
  std::optional<ByteCount> memory_bytes;  // as memory.budget.bytes
};

// A client's connection to a process, the process's end. Requests are started one after the other,
// as on a socket.
class ServerConnection {
 public:
  using Reply = OneShot<Result<Slice>>;

  // `on_answer`: told of every answer that a client is about to get.
  ServerConnection(Executor executor, std::function<void()> on_answer);
  // Sets `reply` to the answer's frame without its size.
  void send(broker::Dispatcher& dispatcher, Slice frame, Reply reply);
  // All that wait for an answer get kUnavailable.
  void close();
  Task<void> join() { return tasks_.join(); }
  // What it waits for, for a report.
  [[nodiscard]] std::string state() const;

 private:
  struct Sent {
    broker::Dispatcher* dispatcher;
    Slice frame;
    Reply reply;
  };
  Task<void> run();
  Task<void> deliver(broker::PendingAnswer answer, Reply reply);

  Executor executor_;
  std::function<void()> on_answer_;
  broker::ClientConnection client_;
  std::stop_source closed_;
  std::vector<Sent> queue_;
  std::vector<Reply> open_;
  bool is_running_ = false;
  int starting_ = -1;  // the API of the request that is being started
  TaskGroup tasks_;
};

class SimProcess {
 public:
  // `on_failed`: called once, when it can never serve again and has closed its connections.
  SimProcess(Outside outside, std::uint64_t number, Machine& machine, config::BrokerLayers layers,
             config::BrokerConfig config, NodeLimits limits,
             std::function<void(const Error&)> on_failed);
  ~SimProcess();

  void start();
  // No two processes of a simulation have the same.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] bool ready() const { return is_ready_; }
  // Why it can never serve again.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  // Null while it is not ready.
  std::shared_ptr<ServerConnection> connect();
  [[nodiscard]] broker::Dispatcher& dispatcher() { return serving_->dispatcher(); }
  [[nodiscard]] metadata::LogCoordinator& coordinator() { return *coordinator_; }
  [[nodiscard]] std::vector<MemoryUse> memory(bool is_idle) const;
  void cut();
  // Ends it; ended() when nothing of it runs.
  void stop();
  [[nodiscard]] bool ended() const { return has_ended_; }
  // For a report.
  [[nodiscard]] std::string step() const;

 private:
  Task<void> run();
  Task<void> watch_failure();
  void look_at_answer();
  Task<void> end();

  Outside outside_;
  const std::uint64_t number_;
  Machine& machine_;
  config::BrokerLayers layers_;
  config::BrokerConfig config_;
  MetricsRegistry metrics_;
  SimStore raw_store_;
  storage::RetryingStore store_;
  SimLog shared_log_;
  std::unique_ptr<StoreLog> store_log_;  // null: shared_log_
  metadata::MetadataLog& log_;
  metadata::SnapshotStore snapshots_;
  metadata::StoreClaim claim_;
  fetch::Waiters waiters_{1};
  std::unique_ptr<metadata::LogCoordinator> coordinator_;
  std::unique_ptr<broker::Configs> configs_;
  std::unique_ptr<Serving> serving_;
  std::vector<std::shared_ptr<ServerConnection>> connections_;
  std::function<void(const Error&)> on_failed_;
  std::optional<Error> failure_;
  std::optional<MonoTime> known_lost_;  // its history, by the first answer after
  bool is_ready_ = false;
  bool has_ended_ = false;
  std::string step_ = "starts";
  TaskGroup tasks_;
};

class SimNode {
 public:
  // `rate`: of its clock.
  SimNode(Outside outside, BrokerId id, std::vector<std::string> sets, NodeLimits limits,
          double rate);

  // From then on, until kill() or stop(), there is a process: one whose history is lost ends, and
  // the node starts another.
  void start();
  void kill();
  void stop();
  [[nodiscard]] bool is_wanted() const { return is_wanted_; }
  [[nodiscard]] BrokerId id() const { return id_; }
  [[nodiscard]] Machine& machine() { return machine_; }
  // Null while there is none.
  [[nodiscard]] std::shared_ptr<SimProcess> process() const { return process_; }
  // Nothing runs any more.
  [[nodiscard]] bool quiet();
  // What its processes do, for a report.
  [[nodiscard]] std::string state() const;

 private:
  void launch();
  void end_process();
  void on_failed(std::uint64_t number, const Error& error);
  Task<void> start_anew(std::shared_ptr<SimProcess> failed);

  Outside outside_;
  BrokerId id_;
  Machine& machine_;
  std::vector<std::string> sets_;
  NodeLimits limits_;
  Rng rng_;
  Backoff rests_;  // between processes that fail; src/main/run_broker.cc has its own
  bool is_wanted_ = false;
  std::uint64_t processes_ = 0;  // there were so far
  std::uint64_t number_ = 0;     // of process_
  std::shared_ptr<SimProcess> process_;
  std::vector<std::shared_ptr<SimProcess>> ending_;
  TaskGroup starting_;
};

}  // namespace weir::sim

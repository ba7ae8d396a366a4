// The clients of a simulation: producers that retry as Kafka's do, and consumers that read all
// partitions and commit what they read. Each is one task on a machine of its own.
#pragma once
#include "kafka/protocol/messages/fetch.h"
#include "sim/history.h"
#include "sim/link.h"

#include <deque>

namespace weir::sim {

struct ClientParts {
  World& world;
  const Weather& weather;
  std::vector<SimNode*> nodes;
  History& history;
  std::string topic;
  std::int32_t partitions = 1;
};

// Creates the topic; tries until it is there.
Task<void> create_topic(ClientParts parts, Machine& machine, TaskGroup& group);

class Producer {
 public:
  // `records` for each partition; several batches of a partition are in flight at once.
  Producer(ClientParts parts, int number, bool idempotent, std::uint64_t records);

  void start();
  [[nodiscard]] bool done() const { return running_ == 0; }
  void stop() { group_.stop(); }
  [[nodiscard]] bool ended() const { return group_.running() == 0; }
  // The last error, for a report.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  struct Batch {
    std::uint64_t first = 0;
    std::int32_t count = 0;
    bool acknowledged = false;
  };

  Task<void> run();
  Task<void> run_partition(PartitionIndex partition);
  Task<void> send(Link& link, PartitionIndex partition, Batch& batch);
  Task<void> get_producer_id(Link& link);
  Slice encode(PartitionIndex partition, const Batch& batch) const;
  [[nodiscard]] std::string value(PartitionIndex partition, std::uint64_t number) const;

  ClientParts parts_;
  const std::string name_;
  const bool idempotent_;
  const std::uint64_t records_;
  Machine& machine_;
  Rng rng_;
  ProducerId id_ = -1;
  ProducerEpoch epoch_ = -1;
  int running_ = 0;
  std::string trouble_;
  TaskGroup group_;
};

class Consumer {
 public:
  Consumer(ClientParts parts, int number);

  // Reads until stop().
  void start();
  // Reads everything once, from the log starts to the high watermarks of now.
  void start_last_reading();
  [[nodiscard]] bool done() const { return group_.running() == 0; }
  void stop() { group_.stop(); }

 private:
  Task<void> run();
  Task<void> read_all();
  Task<bool> fetch(Link& link);
  void take(Link& link, const kafka::FetchResponse::Partition& partition);
  void take_records(PartitionIndex partition, const Slice& records);
  Task<void> commit(Link& link);
  Task<void> check_commit(Link& link);
  [[nodiscard]] bool at_end() const;

  struct Position {
    Offset next = 0;
    Offset high_watermark = -1;
  };

  ClientParts parts_;
  const std::string group_id_;
  Machine& machine_;
  Rng rng_;
  std::vector<Position> positions_;
  TaskGroup group_;
};

}  // namespace weir::sim

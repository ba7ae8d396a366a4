// What the clients of a simulation share. Each is a task on a machine of its own: producers that
// retry as Kafka's do, consumers that read all partitions and commit what they read, members of
// groups (group_member.h), and administrators (admin.h).
#pragma once
#include "kafka/protocol/messages/fetch.h"
#include "kafka/protocol/messages/produce.h"
#include "kafka/records/record_batch.h"
#include "sim/fetch_session.h"
#include "sim/history.h"
#include "sim/link.h"

#include <deque>

namespace weir::sim {

struct ClientParts {
  World& world;
  const Weather& weather;
  std::vector<SimNode*> nodes;
  History& history;
  std::vector<Where> partitions;  // what is produced to and read, sorted
};

[[nodiscard]] std::vector<Where> partitions_of(const std::vector<Where>& all, std::int32_t topic);

// Creates a topic; tries until it is there.
Task<void> create_topic(ClientParts parts, std::string name, std::int32_t partitions,
                        Machine& machine, TaskGroup& group);

enum class ProducerKind : std::uint8_t {
  kIdempotent,
  kPlain,   // what it sends again may stand twice
  kSilent,  // acks=0: it sends everything once, and hears nothing of it
};

class Producer {
 public:
  // `records` for each partition; several batches of a partition are in flight at once. Chance
  // decides how it compresses, and whether a request holds batches of several partitions.
  Producer(ClientParts parts, int number, ProducerKind kind, std::uint64_t records);

  void start();
  [[nodiscard]] bool done() const { return running_ == 0; }
  void stop() { group_.stop(); }
  [[nodiscard]] bool ended() const { return group_.running() == 0; }
  // The last error, for a report.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] const Where& troubled() const { return troubled_; }

 private:
  struct Batch {
    std::uint64_t first = 0;
    std::int32_t count = 0;
    int attempts = 0;
    bool acknowledged = false;
  };

  // What is sent to a partition.
  struct Line {
    Where where;
    std::deque<Batch> window;  // on its way, in order
    std::uint64_t next = 0;    // the first record that was not sent
  };
  struct Sending {
    Where where;
    Batch* batch;
  };
  struct Silent {
    SentBatch batch;
    std::string first;  // value
  };

  Task<void> run();
  std::vector<std::vector<Where>> draw_connections();
  void fill(Line& line);
  [[nodiscard]] bool has_more(const std::vector<Line>& lines) const;
  Task<void> run_connection(std::vector<Where> partitions);
  Task<void> run_silent_connection(std::vector<Where> partitions);
  Task<void> send_silently(Link& link, kafka::ProduceRequest request, std::vector<Silent> batches);
  Task<void> send(Link& link, std::vector<Sending> batches);
  [[nodiscard]] kafka::ProduceRequest request_of(const std::vector<Sending>& batches) const;
  void see_answer(std::uint64_t connection, std::uint64_t number, const Sending& sending,
                  const kafka::ProduceResponse::PartitionResponse& answer);
  void fail_with(const Sending& sending, const std::string& error);
  void acknowledge(const Where& where, const Batch& batch, Offset base_offset);
  Task<void> get_producer_id(Link& link);
  Slice encode(const Where& where, const Batch& batch) const;
  [[nodiscard]] std::string value(const Where& where, std::uint64_t number) const;

  ClientParts parts_;
  const std::string name_;
  const ProducerKind kind_;
  const std::uint64_t records_;
  Machine& machine_;
  Rng rng_;
  const std::int16_t acks_;
  const kafka::Codec codec_;
  ProducerId id_ = -1;
  ProducerEpoch epoch_ = -1;
  std::uint64_t sent_ = 0;
  int running_ = 0;
  std::string trouble_;
  Where troubled_;
  TaskGroup group_;
};

// Reads partitions, each from its position on, and tells the history what it sees.
class Reader {
 public:
  // `has_sessions`: it fetches in a fetch session.
  explicit Reader(ClientParts parts, bool has_sessions = false)
      : parts_(std::move(parts)), has_sessions_(has_sessions) {}

  // One request for the partitions; false when a part of it failed.
  Task<bool> fetch(Link& link, std::vector<Where> partitions, std::int32_t partition_bytes,
                   std::int32_t wait_ms = 100);
  [[nodiscard]] Offset position(const Where& where) { return positions_[where].next; }
  void seek(const Where& where, Offset offset) { positions_[where].next = offset; }
  // Of all that were fetched.
  [[nodiscard]] bool at_end(const std::vector<Where>& partitions);

 private:
  struct Position {
    Offset next = 0;
    Offset high_watermark = -1;
  };
  bool take_all(Link& link, Moment asked, const std::vector<Where>& partitions,
                const kafka::FetchResponse& response);
  bool take(Link& link, Moment asked, MonoTime answered, std::int32_t topic,
            const kafka::FetchResponse::Partition& partition);
  void take_records(const Where& where, const Slice& records);
  Task<void> seek_earliest(Link& link, Where where);

  ClientParts parts_;
  const bool has_sessions_;
  FetchSession session_;
  std::map<Where, Position> positions_;
  std::vector<Where> lost_;  // their positions are out of range
};

class Consumer {
 public:
  Consumer(ClientParts parts, int number);

  // Reads until stop().
  void start();
  // Reads everything once, from the log starts to the high watermarks of now, and the offsets of
  // the groups.
  void start_last_reading(std::vector<std::string> groups);
  [[nodiscard]] bool done() const { return group_.running() == 0; }
  void stop() { group_.stop(); }
  [[nodiscard]] const std::string& group_id() const { return group_id_; }

 private:
  Task<void> run();
  Task<void> read_all(std::vector<std::string> groups);
  Task<void> commit(Link& link);

  ClientParts parts_;
  const std::string group_id_;
  Machine& machine_;
  Rng rng_;
  Reader reader_;
  TaskGroup group_;
};

// Asks what the group has committed, and tells the history; nothing when the answer was an error.
// The offsets of `partitions`, in their order; -1: none.
Task<std::optional<std::vector<Offset>>> read_committed(ClientParts parts, Link& link,
                                                        std::string group,
                                                        std::vector<Where> partitions);
// Commits offsets of `partitions` (sorted) as one that is in no group, and tells the history which
// were taken. False: not all were.
Task<bool> commit_offsets(ClientParts parts, Link& link, std::string group,
                          std::vector<Where> partitions, std::vector<Offset> offsets);
// The offset that ListOffsets gives for the timestamp; nothing: an error.
Task<std::optional<Offset>> list_offset(Link& link, Where where, TimestampMs timestamp);
// The link goes to the group's coordinator then.
Task<bool> find_coordinator(Link& link, std::string group);

}  // namespace weir::sim

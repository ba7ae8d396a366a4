// Serves Fetch: survey the partitions, wait until there is enough or time is up, read, assemble
// (docs/architecture.md, "Read path"). Owned by main; called on any core, resumes there.
#pragma once
#include "fetch/batch_assembly.h"
#include "fetch/object_reader.h"
#include "fetch/partition_fetch.h"
#include "fetch/waiters.h"
#include "metadata/coordinator.h"
#include "runtime/byte_budget.h"
#include "runtime/clock.h"
#include "runtime/metrics.h"

#include <functional>
#include <stop_token>
#include <vector>

namespace weir::fetch {

struct FetchOptions {
  // Answers at once, without records.
  bool look_only = false;
  std::size_t core = 0;  // the caller's
  Duration max_wait{};
  ByteCount min_bytes = 0;
  ByteCount max_bytes = 0;
  // Requested when nobody waits for the answer any more.
  std::stop_token closed;
  // Asked now and then while the fetch waits for data, from its executor: true ends the wait.
  std::function<bool()> hurry = nullptr;
};

class Fetcher {
 public:
  // `memory` is for answers, from their reading until they are sent. Where it is used up, by
  // consumers that take their answers slowly, fetches get one batch at a time, and wait in order
  // for the memory of that.
  Fetcher(metadata::Coordinator& coordinator, ObjectReader& reader, Waiters& waiters,
          ByteBudget& memory, Clock& clock, MetricsRegistry& metrics);

  // Answer i is for partition i. Partitions are served in this order (fairness is the client's
  // rotation or the session's); the first that has records gets at least one batch whatever the
  // limits say, unless there is no memory for it for a long time.
  Task<std::vector<PartitionData>> fetch(std::vector<PartitionFetch> partitions,
                                         FetchOptions options);

  // Waiting fetches answer at once with what there is, and later ones do not wait. For shutdown.
  void stop_waiting();

  // Fetches wait for memory that unsent answers take.
  [[nodiscard]] bool is_short_of_memory() const { return memory_.waiting() > 0; }

 private:
  struct Target {
    PartitionFetch request;
    TopicPartition id;
    std::shared_ptr<const metadata::TopicImage> topic;  // null: unknown
    bool was_created_anew = false;  // its id is gone, and its name is that of another topic
    metadata::PartitionView view;
    PartitionData data;
    std::vector<metadata::Extent> extents;
    ByteCount limit = 0;
  };
  struct Survey {
    ByteCount available = 0;
    bool has_partitions = false;
    bool has_error = false;
    // Errors that a broker gives when its state is behind, which the log can tell.
    bool is_doubtful = false;
    bool has_unknown = false;
  };
  struct Read {
    const metadata::Extent* extent = nullptr;
    std::size_t depth = 0;               // among the extents of its partition
    std::optional<Result<Chain>> bytes;  // nothing: there was no time for it
  };

  // What an answer takes of the memory for answers. Its records hold it, and what is reserved is
  // set right before they leave.
  struct AnswerMemory {
    ByteBudget::Reservation reservation;
    ByteCount bytes = 0;
  };

  struct Plan {
    std::vector<Read> reads;  // of all targets, in their order
    ByteCount bytes = 0;      // that the answer will have, about
    ByteCount max_bytes = 0;
    std::shared_ptr<AnswerMemory> memory = std::make_shared<AnswerMemory>();
  };

  std::vector<Target> resolve(std::vector<PartitionFetch> partitions,
                              const metadata::ClusterImage& image) const;
  void resolve(Target& target, const metadata::ClusterImage& image) const;
  Survey survey(std::vector<Target>& targets, const FetchOptions& options) const;
  void look_at(Target& target) const;
  // Finds the partitions anew when `image` is not the last one.
  void follow(std::vector<Target>& targets,
              std::shared_ptr<const metadata::ClusterImage>& image) const;
  // Refreshes the views until there is enough, an error, or no time left. The targets are those of
  // `image`.
  Task<void> wait_for_data(std::vector<Target>& targets,
                           std::shared_ptr<const metadata::ClusterImage> image,
                           const FetchOptions& options);
  // Looks again at what has a doubtful error, with a state that is not behind.
  Task<void> confirm(std::vector<Target>& targets);
  static Plan plan_reads(std::vector<Target>& targets, ByteCount max_bytes);
  // The same within the memory for answers. Nothing: there is none.
  Task<std::optional<Plan>> plan_within_memory(std::vector<Target>& targets,
                                               const FetchOptions& options);
  // False: closed, or it would take too long.
  Task<bool> wait_for_memory(AnswerMemory& memory, ByteCount bytes, const FetchOptions& options);
  Task<void> read_all(std::vector<Target>& targets, const FetchOptions& options);
  // One answer's bytes.
  Task<ByteCount> read_planned(std::vector<Target>& targets, Plan& plan);
  Task<void> load(std::vector<Read>& reads);
  // The reads of a fetch in the order in which they begin, and when the last one may.
  struct Loading {
    std::vector<Read*> order;
    std::size_t next = 0;
    MonoTime end;
  };
  Task<void> load_from(std::shared_ptr<Loading> loading);
  void assemble(Target& target, std::span<Read> reads, AssemblyLimits limits);
  void fail_read(Target& target, const Error& error);

  metadata::Coordinator& coordinator_;
  ObjectReader& reader_;
  Waiters& waiters_;
  ByteBudget& memory_;
  Clock& clock_;
  std::stop_source stop_waiting_;
  Counter& bytes_out_;
  Counter& failed_reads_;
  Counter& shortened_;
  Counter& memory_waits_;
  Histogram& read_time_;
};

}  // namespace weir::fetch

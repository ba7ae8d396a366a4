// Serves Fetch: survey the partitions, wait until there is enough or time is up, read, assemble
// (docs/architecture.md, "Read path"). Owned by main; called on any core, resumes there.
#pragma once
#include "fetch/object_reader.h"
#include "fetch/partition_fetch.h"
#include "fetch/waiters.h"
#include "metadata/coordinator.h"
#include "runtime/clock.h"
#include "runtime/metrics.h"

#include <atomic>
#include <stop_token>
#include <vector>

namespace weir::fetch {

struct FetchOptions {
  std::size_t core = 0;  // the caller's
  Duration max_wait{};
  ByteCount min_bytes = 0;
  ByteCount max_bytes = 0;
  // Requested when nobody waits for the answer any more.
  std::stop_token closed;
};

class Fetcher {
 public:
  Fetcher(metadata::Coordinator& coordinator, ObjectReader& reader, Waiters& waiters, Clock& clock,
          MetricsRegistry& metrics);

  // Answer i is for partition i. Partitions are served in this order (fairness is the client's
  // rotation or the session's); the first that has records gets at least one batch whatever the
  // limits say.
  Task<std::vector<PartitionData>> fetch(std::vector<PartitionFetch> partitions,
                                         FetchOptions options);

  // Waiting fetches answer at once with what there is, and later ones do not wait. For shutdown.
  void stop_waiting();

 private:
  struct Target {
    PartitionFetch request;
    TopicPartition id;
    std::shared_ptr<const metadata::TopicImage> topic;  // null: unknown
    metadata::PartitionView view;
    PartitionData data;
    std::vector<metadata::Extent> extents;
    ByteCount limit = 0;
  };
  struct Survey {
    ByteCount available = 0;
    bool has_partitions = false;
    bool has_error = false;
    bool is_out_of_range = false;
  };
  struct Read {
    const metadata::Extent* extent = nullptr;
    Result<Chain> bytes = Chain{};
  };

  std::vector<Target> resolve(std::vector<PartitionFetch> partitions) const;
  Survey survey(std::vector<Target>& targets, const FetchOptions& options) const;
  static void look_at(Target& target);
  // Refreshes the views until there is enough, an error, or no time left.
  Task<void> wait_for_data(std::vector<Target>& targets, const FetchOptions& options);
  Task<void> confirm_out_of_range(std::vector<Target>& targets);
  Task<void> read_all(std::vector<Target>& targets, const FetchOptions& options);
  Task<void> load(std::vector<Read>& reads);
  Task<void> load_from(std::vector<Read>& reads, std::shared_ptr<std::size_t> next);
  void assemble(Target& target, std::span<Read> reads, bool at_least_one, ByteCount max_bytes);
  void fail_read(Target& target, const Error& error);

  metadata::Coordinator& coordinator_;
  ObjectReader& reader_;
  Waiters& waiters_;
  Clock& clock_;
  std::atomic<bool> stop_waiting_ = false;
  Counter& bytes_out_;
  Counter& failed_reads_;
  Histogram& read_time_;
};

}  // namespace weir::fetch

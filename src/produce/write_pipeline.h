// From staged batches to committed offsets: makes objects of what is staged, uploads several at a
// time, commits them in order per partition, and tells each request its outcome
// (docs/architecture.md, "Write path").
//
// Owned by main. Everything but Stage::add, hurry() and drain() runs on the executor it is given,
// so nothing here is locked.
#pragma once
#include "metadata/coordinator.h"
#include "produce/commit_order.h"
#include "produce/flush_policy.h"
#include "produce/sequence_gate.h"
#include "produce/stage.h"
#include "runtime/metrics.h"
#include "runtime/notifier.h"
#include "runtime/rng.h"
#include "runtime/task_group.h"
#include "storage/object_store.h"

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

namespace weir::produce {

// Takes the bytes of objects that were just uploaded, so that they need not be read back: the
// object cache. Any thread.
class WrittenObjects {
 public:
  virtual ~WrittenObjects() = default;
  virtual void on_object_written(const storage::ObjectKey& key, const Chain& bytes) = 0;
};

struct PipelineParts {
  metadata::Coordinator& coordinator;
  storage::ObjectStore& store;
  WrittenObjects& written;
  Clock& clock;
  Executor executor;
  MetricsRegistry& metrics;
  Uuid cluster_id;
  // Of the objects of each epoch. Drawn by each process, far from those of others: when the log
  // returns to an older state, so do the numbers of epochs, and a put of before that comes late
  // must not replace an object of after.
  std::int64_t first_sequence = 1;
};
[[nodiscard]] std::int64_t draw_first_sequence(Rng& rng);

class WritePipeline {
 public:
  WritePipeline(PipelineParts parts, std::size_t lanes, FlushLimits limits);
  ~WritePipeline();

  // Where requests stage their batches.
  [[nodiscard]] Stage& stage() { return stage_; }
  void start();
  // Nothing waits for more from now on: what is staged, and what still comes, is written at once.
  // For a broker that stops, whose clients wait for their answers. Any thread.
  void hurry();
  // Flushes what is staged, and returns when every batch has its outcome. Nothing may be staged
  // after the call. Any thread.
  Task<void> drain();

 private:
  struct Flight;

  void wake() { wake_.notify(); }
  Task<void> run();
  void flush_what_is_due();
  [[nodiscard]] bool awaits_registration() const;
  void launch();
  Task<void> upload(std::shared_ptr<Flight> flight);
  void commit_ready(const std::vector<CommitOrder::Ticket>& ready);
  Task<void> commit(std::shared_ptr<Flight> flight);
  enum class Upload { kDone, kUnknown };
  Task<void> discard(std::shared_ptr<Flight> flight, Error error, Upload upload);
  Task<void> remove(storage::ObjectKey key, Upload upload);
  Task<void> remove_again(storage::ObjectKey key);
  void refuse(std::vector<StagedBatch> staged, ErrorCode reason);
  void refuse_what_must_wait(std::vector<StagedBatch>& staged);
  void remember_failed(const storage::WalIndex& index);
  void remember_judged(const storage::WalIndex& index);
  [[nodiscard]] bool must_wait(const storage::WalIndex& index);
  [[nodiscard]] FlushSituation situation() const;

  PipelineParts parts_;
  FlushLimits limits_;
  FlushPolicy policy_;
  Notifier wake_;
  Stage stage_;
  CommitOrder order_;
  SequenceGate gate_;
  std::unordered_map<CommitOrder::Ticket, std::shared_ptr<Flight>> flights_;
  std::int64_t next_sequence_ = 0;
  BrokerEpoch sequence_epoch_ = -1;  // whose sequence next_sequence_ is
  std::size_t uploads_ = 0;
  std::atomic<bool> is_hurrying_ = false;
  std::atomic<bool> is_draining_ = false;
  TaskGroup tasks_;
  TaskGroup cleanup_;  // of what failed uploads may have left

  Counter& objects_;
  Counter& bytes_in_;
  Counter& failed_;
  Histogram& object_size_;
  Histogram& stage_time_;
  Histogram& upload_time_;
  Histogram& commit_time_;
};

}  // namespace weir::produce

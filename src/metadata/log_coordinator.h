// The Coordinator of a broker: replays the shared metadata log, registers the broker in it, and
// commits by appending to it. It shows the others that it lives, and fences those that do not.
//
// Owned by main, which calls start() once and stop() before it destroys it. All its work is on the
// coordinator's executor, one thread. It starts without the log, too: until the log answers and the
// broker is registered, status() says why not, and commands are answered with kUnavailable. After a
// fencing by others it registers anew by itself. It ends for good (status() says so) when the log's
// history diverged, when a newer Weir wrote to the log, or when another process took its broker id.
#pragma once
#include "metadata/appender.h"
#include "metadata/clock_watch.h"
#include "metadata/coordinator.h"
#include "metadata/coordinator_metrics.h"
#include "metadata/membership.h"
#include "metadata/replayer.h"
#include "metadata/snapshotter.h"
#include "metadata/state/stat.h"
#include "runtime/task_group.h"

#include <memory>
#include <vector>

namespace weir::metadata {

struct LogCoordinatorOptions {
  BrokerId broker_id = 1;
  std::vector<Endpoint> endpoints;
  std::string rack;
  AppenderOptions appender;
  SnapshotterOptions snapshots;
  MembershipOptions membership;
  std::int16_t metadata_level = kMetadataLevel;  // less: as an older release would (tests)
  // At most between two looks at the log for entries of other brokers, where the log's own wake-up
  // fails.
  Duration poll_interval = std::chrono::milliseconds(500);
  MetricsRegistry* metrics = nullptr;  // null: nothing is counted
  // Draws incarnations and nothing else: they are secrets among brokers (broker/append_proof.h),
  // and what clients see of another source might give its state away.
  Rng incarnations = Rng::from_entropy();
};

// Whether a broker that is built anew, from the snapshot and the log as they are then, may go on
// after this failure: the log's history diverged, or what it answered was damaged. A newer Weir
// that wrote to it, or another process with the same id, is still there after a start.
[[nodiscard]] inline bool may_start_anew(const Error& failure) {
  return failure.code == ErrorCode::kCorrupt;
}

class LogCoordinator final : public Coordinator {
 public:
  // `snapshots`: null where the log is never trimmed (tests). `blocking`: for the work of
  // snapshots.
  LogCoordinator(MetadataLog& log, SnapshotStore* snapshots, Clock& clock, Rng rng,
                 Executor executor, Executor blocking, LogCoordinatorOptions options);
  ~LogCoordinator() override;

  void start();
  // stop() will come, once the requests that are under way have ended: a log that is down holds no
  // command up any more, and a broker that is fenced now does not register again: it could replace
  // the process that was started in its place.
  void hurry();
  // New commands are answered with kCancelled, and those that wait are settled if the log answers.
  // Then the broker leaves the cluster, so that others need not wait for the end of its session.
  Task<void> stop();
  // Success: registered, and the log answers. Any thread.
  [[nodiscard]] Status status() const;
  Task<MetadataStat> stat();
  // Until nothing can be applied any more: the reason. What was applied may then be told to nobody:
  // of a history that diverged, positions and offsets have other values for everybody else.
  // kCancelled after stop(). For one task, once.
  Task<Error> failed() { return failed_.wait(); }
  // Until the broker is registered, or can never be.
  Task<Status> wait_registered();

  Task<Result<CommandResult>> submit(Command command) override;
  [[nodiscard]] std::optional<Error> refusal() const override { return appender_.refusal(); }
  Task<Status> catch_up() override { return ask_to_catch_up(false); }
  [[nodiscard]] std::shared_ptr<const ClusterImage> image() const override {
    return replayer_.readers().image();
  }
  [[nodiscard]] std::shared_ptr<const GroupImage> group(
      const std::string& group_id) const override {
    return replayer_.readers().group(group_id);
  }
  [[nodiscard]] std::vector<std::string> group_ids() const override {
    return replayer_.readers().group_ids();
  }
  Task<Result<std::vector<DeletableObject>>> deletable_objects(Position until,
                                                               std::size_t limit) override;
  Task<Result<std::vector<ObjectId>>> orphans(std::vector<ObjectId> ids) override;
  void add_listener(CommitListener& listener) override { replayer_.add_listener(listener); }
  [[nodiscard]] BrokerEpoch broker_epoch() const override { return epoch_; }
  [[nodiscard]] Position applied() const override { return replayer_.position(); }

 private:
  struct CatchUp {
    OneShot<Status> done;
    bool confirm = false;
  };

  Task<void> run();
  Task<void> follow();
  Task<void> answer_catch_ups();
  Task<Status> ask_to_catch_up(bool confirm);
  // catch_up(), and the log then still held the history that is applied here.
  Task<Status> catch_up_and_confirm() { return ask_to_catch_up(true); }
  Task<void> keep_membership();
  Task<void> fence_silent();
  [[nodiscard]] std::optional<std::int16_t> next_metadata_level() const;
  Task<void> raise_metadata_level();
  Task<Status> load();
  Task<Status> load_snapshot();
  Task<Status> replay_to_tail();
  Task<Status> register_once();
  void after_apply();
  // Another process has registered this broker id: an own registration of before that comes late
  // has no effect.
  [[nodiscard]] bool is_replaced() const;
  [[nodiscard]] std::optional<Error> lost_registration() const;
  void end_epoch(const Error& reason);
  Task<void> leave();

  MetadataLog& log_;
  Clock& clock_;
  Rng rng_;
  const Executor executor_;
  const LogCoordinatorOptions options_;
  Rng incarnation_rng_;
  Replayer replayer_;
  Appender appender_;
  std::optional<Snapshotter> snapshotter_;
  Membership membership_;
  ClockWatch clock_watch_;
  std::optional<CoordinatorMetrics> metrics_;
  TaskGroup group_;
  bool leaving_ = false;
  std::atomic<bool> hurried_ = false;
  std::atomic<BrokerEpoch> epoch_ = -1;
  bool raising_ = false;  // the metadata level
  Notifier unregistered_;
  Notifier registered_;
  OneShot<Error> failed_;
  std::atomic<bool> loaded_ = false;

  bool snapshot_loaded_ = false;

  mutable std::mutex mutex_;
  Error loading_error_{ErrorCode::kUnavailable, "the metadata is being loaded"};
  std::vector<CatchUp> catch_ups_;
  Notifier catch_up_asked_;
};

}  // namespace weir::metadata

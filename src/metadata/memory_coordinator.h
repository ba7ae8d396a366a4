// A Coordinator for tests and the simulator: the real state machine without a log behind it. A
// submitted command is applied at once, on the given executor (a single thread), as broker
// `broker`, which is registered from the start. Any thread may call it; tests may let commands
// fail, hold them back, and act as other brokers.
#pragma once
#include "metadata/coordinator.h"
#include "metadata/state/published_state.h"
#include "metadata/state/state.h"
#include "runtime/clock.h"
#include "runtime/oneshot.h"

#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace weir::metadata {

class MemoryCoordinator final : public Coordinator {
 public:
  MemoryCoordinator(Clock& clock, Executor executor, BrokerId broker = 1);
  ~MemoryCoordinator() override;

  Task<Result<CommandResult>> submit(Command command) override;
  [[nodiscard]] std::optional<Error> refusal() const override;
  Task<Status> catch_up() override;
  [[nodiscard]] std::shared_ptr<const ClusterImage> image() const override {
    return readers_.image();
  }
  [[nodiscard]] std::shared_ptr<const GroupImage> group(
      const std::string& group_id) const override {
    return readers_.group(group_id);
  }
  [[nodiscard]] std::vector<std::string> group_ids() const override { return readers_.group_ids(); }
  Task<Result<std::vector<DeletableObject>>> deletable_objects(Position until,
                                                               std::size_t limit) override;
  Task<Result<std::vector<ObjectId>>> orphans(std::vector<ObjectId> ids) override;
  void add_listener(CommitListener& listener) override;
  [[nodiscard]] BrokerEpoch broker_epoch() const override;
  [[nodiscard]] Position applied() const override;

  // ---- for tests ----

  // Applies at once, on the calling thread, as this broker or another (which is registered when it
  // is new).
  CommandResult apply(Command command) { return apply_as(broker_, std::move(command)); }
  CommandResult apply_as(BrokerId broker, Command command);
  // Every submit(), catch_up() and question about objects answers `error` and does nothing, until
  // it is empty again.
  void set_failure(std::optional<Error> error);
  // The answer of refusal(); submit() does not care. While it is kFenced there is no epoch.
  void set_refusal(std::optional<Error> error);
  // While held, submitted commands wait; release() applies them in their order.
  void hold();
  void release();
  // The same with catch_up().
  void hold_reads();
  void release_reads();
  // As when a snapshot is loaded: the same state, read anew.
  void reload();
  // Commands that were submitted (not: applied directly).
  [[nodiscard]] std::size_t submitted() const;

 private:
  struct Waiting {
    Command command;
    OneShot<Result<CommandResult>> done;
  };
  struct Writer {
    BrokerEpoch epoch = -1;
    std::int64_t next_sequence = 0;
  };

  void settle(Waiting& waiting);
  [[nodiscard]] std::optional<OneShot<bool>> wait_if_reads_are_held();
  Result<CommandResult> apply_encoded(BrokerId broker, const Command& command);
  Applied append(RecordHeader header, const Command& command);

  Clock& clock_;
  Executor executor_;
  const BrokerId broker_;
  PublishedState readers_;
  mutable std::recursive_mutex mutex_;  // listeners may look at the coordinator
  State state_;
  std::map<BrokerId, Writer> writers_;
  std::vector<CommitListener*> listeners_;
  std::optional<Error> failure_;
  std::optional<Error> refusal_;
  bool held_ = false;
  std::deque<Waiting> waiting_;
  bool reads_held_ = false;
  std::vector<OneShot<bool>> reads_;  // that wait
  std::size_t submitted_ = 0;
};

}  // namespace weir::metadata

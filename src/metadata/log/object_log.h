// The metadata log in the bucket itself: groups of entries are objects whose keys are positions,
// each written on the condition that nothing is there. docs/formats/metadata-object.md has the
// rules. For clusters that want to run nothing beside the bucket and write seldom: an append takes
// a PUT and a HEAD, and a GET before them when the log was not looked at for 0.3 s and others
// append, too, and brokers that append at the same time take turns.
//
// All it does, it does on one serial executor, which must outlive the store. Appends that arrive
// while a group is being written go together into the next one. The end of the log is looked for
// while somebody waits, every 0.1 to 4 s, the longer the less happens.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/log/missing_log.h"
#include "runtime/rng.h"
#include "storage/object_store.h"
#include "storage/retrying_store.h"

#include <memory>
#include <string>

namespace weir::metadata {

struct ObjectLogOptions {
  // Readers, who must not begin a log, do not try out the store either.
  MissingLog missing = MissingLog::kCreate;
  bool probe = true;
  storage::RetryPolicy retries{.deadline = std::chrono::seconds(5)};
  Rng rng = Rng::from_entropy();
};

class ObjectLog final : public MetadataLog {
 public:
  // Tries out whether the store keeps its promise on conditional writes, without which brokers
  // would overwrite each other's entries: kInvalid when it does not. A store that is down is tried
  // out before the first append. `where` names the store in messages. The store outlives the log.
  // Waits for the executor's thread, unless it shall neither probe nor fail where there is no log.
  [[nodiscard]] static Result<std::unique_ptr<ObjectLog>> open(storage::ObjectStore& store,
                                                               std::string where, Clock& clock,
                                                               Executor executor,
                                                               ObjectLogOptions options = {});
  ~ObjectLog() override;

  Task<Result<Appended>> append(Slice entry, Position known) override;
  Task<Result<Appended>> append_for_another(Slice entry, Position known) override;
  void heard_of(Position position, MonoTime began) override;
  Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit) override;
  Task<Result<Position>> tail() override;
  Task<void> wait_past(Position position, MonoTime deadline) override;
  Task<Result<SnapshotRef>> latest_snapshot() override;
  Task<Status> record_snapshot(SnapshotRef ref) override;
  Task<Status> trim(Position upto) override;
  Task<Result<Uuid>> cluster_id(Uuid proposal) override;
  [[nodiscard]] Duration look_interval() const override;
  Task<void> stop() override;

 private:
  class Worker;
  explicit ObjectLog(std::unique_ptr<Worker> worker);

  std::unique_ptr<Worker> worker_;
};

}  // namespace weir::metadata

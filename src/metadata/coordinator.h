// The Batch Coordinator of KIP-1150 in this broker: it replays the metadata log into the state and
// commits by appending to it. Everything else (produce, fetch, groups, the APIs) meets the metadata
// through this interface.
//
// Owned by main. Any thread may call it; tasks resume on the caller's executor. The state itself
// lives on the coordinator's thread; readers see published, immutable images and never wait for
// that thread.
#pragma once
#include "base/error.h"
#include "base/ids.h"
#include "metadata/log/metadata_log.h"
#include "metadata/state/commands.h"
#include "metadata/state/image.h"
#include "metadata/state/object_table.h"
#include "runtime/task.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::metadata {

// Called on the coordinator's thread after an entry was applied and its images published; must
// return quickly.
class CommitListener {
 public:
  virtual ~CommitListener() = default;
  // Partitions whose high watermark or log start moved, in no order, each once.
  virtual void on_partitions_advanced(std::span<const TopicPartition> partitions) = 0;
  // Topics, brokers or configurations changed.
  virtual void on_image_changed() {}
  // Groups that were claimed, changed or deleted (not: offsets were committed), each once.
  virtual void on_groups_changed(std::span<const std::string> groups) { static_cast<void>(groups); }
};

class Coordinator {
 public:
  virtual ~Coordinator() = default;

  // Appends `command` to the log and returns what applying it gave. Commands submitted at the same
  // time share one log entry (group commit) and are applied in the order of submission. An unknown
  // outcome is settled by (broker epoch, sequence) before this returns. Errors, after which nothing
  // was applied: kUnavailable (the log is down), kExhausted (too much waits, or the log has no
  // space), kInvalid (the command cannot be encoded), kFenced (this broker's epoch ended), kCorrupt
  // (the history diverged), kCancelled (the coordinator stops or failed; only then the outcome may
  // be unknown).
  virtual Task<Result<CommandResult>> submit(Command command) = 0;

  // Why submit() would refuse every command at once, if it would: for work that would be in vain.
  // Nothing: it would try.
  [[nodiscard]] virtual std::optional<Error> refusal() const = 0;

  // Linearizable reads: returns when everything that stood in the log at the time of the call is
  // applied here. Calls that come together share one tail().
  virtual Task<Status> catch_up() = 0;

  // The cluster as of the last applied entry: brokers, topics, configurations, and the cells of the
  // partitions. Never null.
  [[nodiscard]] virtual std::shared_ptr<const ClusterImage> image() const = 0;

  // The consumer groups' and their offsets as of the last applied entry; null when the group is
  // unknown.
  [[nodiscard]] virtual std::shared_ptr<const GroupImage> group(
      const std::string& group_id) const = 0;
  // In order of the ids.
  [[nodiscard]] virtual std::vector<std::string> group_ids() const = 0;

  // What may be deleted from the store is told as of a moment after the call at which the log was
  // seen to end here and to hold the history that was applied; with errors as catch_up() while it
  // does not answer or holds another one. If nothing is to be deleted anyway, the log is not asked.
  //
  // Objects that lost their last extent with an entry at or before `until`, the oldest first, at
  // most `limit`.
  virtual Task<Result<std::vector<DeletableObject>>> deletable_objects(Position until,
                                                                       std::size_t limit) = 0;
  // Of `ids`, those of objects that no entry names and none ever will: the epoch of the broker that
  // uploaded them has ended.
  virtual Task<Result<std::vector<ObjectId>>> orphans(std::vector<ObjectId> ids) = 0;

  // Listeners must outlive the coordinator's stop().
  virtual void add_listener(CommitListener& listener) = 0;

  // -1 until the broker is registered.
  [[nodiscard]] virtual BrokerEpoch broker_epoch() const = 0;
  [[nodiscard]] virtual Position applied() const = 0;
};

}  // namespace weir::metadata

// A state from snapshots in the object store. Errors, beside those of the store and the log:
// kInvalid, a newer Weir wrote it; kCorrupt and kNotFound, it is lost.
#pragma once
#include "metadata/snapshot_store.h"
#include "metadata/state/state.h"
#include "runtime/task.h"

#include <vector>

namespace weir::metadata {

// From the chunks of a snapshot, decoded in parallel on `blocking`.
[[nodiscard]] Task<Result<State>> decode_snapshot(std::vector<Slice> chunks, Executor blocking);

struct RestoredState {
  State state;        // of position 0: there is no snapshot
  Snapshot snapshot;  // that it was made from
  // Why later snapshots were not used, the latest first. Empty: `snapshot` is the latest, and
  // `state` is what it holds.
  std::vector<Error> lost;
};

// The state of the latest snapshot. Where that is lost, of the one before it or an older one, with
// the entries of the log up to the latest at least; one whose history the log does not confirm is
// not used. When none is left, the error of the latest.
[[nodiscard]] Task<Result<RestoredState>> restore_state(SnapshotStore& store, MetadataLog& log,
                                                        Executor blocking);

// Trying again will not help: it is not there, or damaged.
[[nodiscard]] bool is_lost(const Error& error);

}  // namespace weir::metadata

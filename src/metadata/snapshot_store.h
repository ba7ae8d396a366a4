// Snapshots of the state: chunks and a manifest that names them in the object store, and the
// reference to the latest one in the metadata log. What chunks hold is the state machine's affair.
// Chunks that did not change since an earlier snapshot are shared with it, so a snapshot costs what
// changed. Several brokers may write, load and prune at once: docs/formats/snapshot.md has the
// rules.
//
// Thread-safe; calls resume on the caller's executor, where hashing and ChunkSource::make happen
// too. One call has at most kParallel chunks under way. Errors, beside those named: what the object
// store and the log answer.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/snapshot_manifest.h"
#include "storage/object_store.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace weir::metadata {

// A snapshot that is complete in the object store and recorded in the log.
struct Snapshot {
  SnapshotRef ref;  // empty: there is none
  SnapshotManifest manifest;
};

struct ChunkSource {
  std::string name;
  // The bytes, asked for once, when it is the chunk's turn. Empty: the chunk did not change since
  // the base, which has one of this name.
  std::move_only_function<Slice()> make;
};

struct WrittenSnapshot {
  Snapshot snapshot;  // the base of the next one
  std::size_t chunks_written = 0;
  ByteCount bytes_written = 0;
};

struct LoadedSnapshot {
  Snapshot snapshot;          // a base, too
  std::vector<Slice> chunks;  // the bytes of snapshot.manifest.chunks
};

struct PrunedSnapshots {
  std::size_t manifests = 0;
  std::size_t chunks = 0;
};

class SnapshotStore {
 public:
  static constexpr std::size_t kParallel = 8;

  SnapshotStore(storage::ObjectStore& store, MetadataLog& log) : store_(store), log_(log) {}

  // Writes the snapshot of `position` and records it. `base`: an earlier one that write(), latest()
  // or load_latest() gave, or none. kConflict: the log has a snapshot that is not older, or the
  // base was pruned meanwhile; try later with latest() as the base. kInvalid: a name twice, or not
  // in the base. `confirm`: asked last, when only recording is left; with an error nothing is
  // recorded, and nothing is where the log has a new incarnation since.
  [[nodiscard]] Task<Result<WrittenSnapshot>> write(Position position, BrokerEpoch writer,
                                                    std::vector<ChunkSource> sources, Snapshot base,
                                                    std::function<Task<Status>()> confirm = {});
  // The latest snapshot's manifest alone; empty when there is no snapshot. kNotFound: the log names
  // one that is not in the store.
  [[nodiscard]] Task<Result<Snapshot>> latest();
  // With all its chunks, each checked against its digest (kCorrupt). Otherwise as latest().
  [[nodiscard]] Task<Result<LoadedSnapshot>> load_latest();
  // The same with one of before(). kNotFound: a part of it is not in the store.
  [[nodiscard]] Task<Result<LoadedSnapshot>> load(SnapshotRef ref);
  // What stands in the store beside `latest` and is not of a later position, the newest first. The
  // log need not have recorded all of them, and after it was restored from a backup some may be of
  // another history.
  [[nodiscard]] Task<Result<std::vector<SnapshotRef>>> before(SnapshotRef latest);
  // Deletes snapshots but the latest, the one before it, and `keep` if it names one. Chunks that a
  // remaining manifest names stay, and so does everything after the latest snapshot. Nothing is
  // deleted where the store has no `keep` any more: which of the others is whole is not known then.
  [[nodiscard]] Task<Result<PrunedSnapshots>> prune(SnapshotRef keep = {});

 private:
  Task<Result<LoadedSnapshot>> load_chunks(Snapshot snapshot);
  Task<Status> record(SnapshotRef ref, std::function<Task<Status>()> confirm);

  storage::ObjectStore& store_;
  MetadataLog& log_;
};

}  // namespace weir::metadata

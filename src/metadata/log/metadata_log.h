// The metadata log: the totally ordered, durable, append-only list of entries that all brokers share. One interface; every
// backend (sqlite, memory; later postgres and the bucket) passes one contract suite (metadata/log/metadata_log_contract.h).
//
// The log knows nothing of what entries mean: ordering and durability are its work, everything else is the state machine's.
// Positions start at 1 and have no holes; 0 is "before the first". Thread-safe; calls resume on the caller's executor.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"
#include "runtime/clock.h"
#include "runtime/task.h"

namespace weir::metadata {

using Position = std::int64_t;

struct LogEntry {
  Position position = 0;
  Slice bytes;
};

struct Appended {
  Position position = 0;          // where the entry stands; it is durable
  std::vector<LogEntry> entries;  // those after `known` up to and with this one, or a prefix of them when they are many
};

// Where a snapshot of the state lies in the object store.
struct SnapshotRef {
  Position position = 0;     // the state is that after applying this entry
  std::string manifest_key;  // empty: there is no snapshot
};

class MetadataLog {
 public:
  virtual ~MetadataLog() = default;

  // Appends atomically. One call commits and brings what others appended since `known`. kTimeout and kUnavailable leave the
  // outcome unknown: the entry may or may not stand.
  virtual Task<Result<Appended>> append(Slice entry, Position known) = 0;
  // Entries after `after`, in order, until `limit` bytes are reached (at least one if there is one). kNotFound: trimmed away,
  // start from a snapshot.
  virtual Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit) = 0;
  // The last position, linearizable: no append that was answered before this call is missed.
  virtual Task<Result<Position>> tail() = 0;
  // Returns when the log may have grown past `position`, or at `deadline`. May wake for nothing; never needed for safety.
  virtual Task<void> wait_past(Position position, MonoTime deadline) = 0;

  virtual Task<Result<SnapshotRef>> latest_snapshot() = 0;
  // Keeps the reference with the greatest position.
  virtual Task<Status> record_snapshot(SnapshotRef ref) = 0;
  // Forgets entries up to and with `upto`; only behind a recorded snapshot (kInvalid otherwise).
  virtual Task<Status> trim(Position upto) = 0;
};

}  // namespace weir::metadata

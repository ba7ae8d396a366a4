// The metadata log: the totally ordered, durable, append-only list of entries that all brokers
// share. One interface; every backend (sqlite, memory; later postgres and the bucket) passes one
// contract suite (metadata/log/metadata_log_contract.h).
//
// The log knows nothing of what entries mean: ordering and durability are its work, everything else
// is the state machine's. Positions start at 1 and have no holes; 0 is "before the first".
// Thread-safe; calls resume on the caller's executor. The log outlives its calls. A log that was
// restored from a backup may end before a position that was seen: callers compare.
//
// Errors: kInvalid (arguments), kNotFound (trimmed), kTimeout and kUnavailable (try again),
// kThrottled (too many calls wait), kExhausted (no space), kConflict (others' appends are faster,
// one after the other), kCorrupt.
//
// The outcome of an append: after kRefused the entry does not stand and never will. It comes from
// checks before anything is sent (arguments), and from a transaction of this process that is
// certain to be rolled back (a full disk under SQLite), and only append() answers it. After every
// other error the entry may stand or come to stand, whatever the code says: those of a server or a
// store tell why a call failed, and it may have been another call than the one that wrote the
// entry. Such an outcome is settled by appending the same entry again.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "base/units.h"
#include "base/uuid.h"
#include "runtime/clock.h"
#include "runtime/task.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::metadata {

using Position = std::int64_t;

// The largest entry that every backend takes; the smallest has one byte.
constexpr ByteCount kMaxEntryBytes = 16_MiB;
// What an append brings along of others' entries, at most (one entry may be larger).
constexpr ByteCount kAppendAnswerBytes = 4_MiB;

struct LogEntry {
  Position position = 0;
  Slice bytes;
};

struct Appended {
  Position position = 0;  // where the entry stands; it is durable
  // Without a hole from known + 1 up to and with this one, or a prefix of them when they are many.
  // Empty when known + 1 is trimmed away, or when `known` is not before `position` (the log was
  // restored to an older state).
  std::vector<LogEntry> entries;
};

// Where a snapshot of the state lies in the object store.
struct SnapshotRef {
  Position position = 0;     // the state is that after applying this entry
  std::string manifest_key;  // empty: there is no snapshot
};

class MetadataLog {
 public:
  virtual ~MetadataLog() = default;

  // Appends atomically. One call commits and brings what others appended since `known`. kRefused:
  // above.
  virtual Task<Result<Appended>> append(Slice entry, Position known) = 0;
  // The same with the entry of a broker that handed it to this one (metadata/sequenced_log.h): a
  // log whose writers compete learns from it that there are others.
  virtual Task<Result<Appended>> append_for_another(Slice entry, Position known) {
    return append(std::move(entry), known);
  }
  // Another broker made an append of this one in its place, which stands at `position`; the call
  // began at `began`. Whoever looks for the end may leave it at that for a while. Never needed for
  // safety.
  virtual void heard_of(Position position, MonoTime began) {
    static_cast<void>(position);
    static_cast<void>(began);
  }
  // Entries after `after`, in order, together at most `limit` bytes and never fewer than one if
  // there is one. They may be fewer than there are: only an empty answer tells that `after` is the
  // end. kNotFound: trimmed, start from a snapshot.
  virtual Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit) = 0;
  // The last position, linearizable: no append that was answered before this call is missed.
  virtual Task<Result<Position>> tail() = 0;
  // Returns when the log may have grown past `position`, or at `deadline`. May wake for nothing;
  // never needed for safety.
  virtual Task<void> wait_past(Position position, MonoTime deadline) = 0;

  virtual Task<Result<SnapshotRef>> latest_snapshot() = 0;
  // Keeps the reference with the greatest position, of two for one position the first. It must lie
  // within the log.
  virtual Task<Status> record_snapshot(SnapshotRef ref) = 0;
  // Forgets entries up to and with `upto`; only behind a recorded snapshot (kInvalid otherwise).
  virtual Task<Status> trim(Position upto) = 0;

  // The identity of the cluster: the first proposal ever made stays. Zero asks (zero: none yet).
  virtual Task<Result<Uuid>> cluster_id(Uuid proposal) = 0;

  // Grows before calls may meet another history than earlier ones did: a database that was
  // connected to again may have been restored, or be a copy that lacks the last entries. Who keeps
  // a state compares it with the log then. An append that began before (was called, if not awaited
  // yet) does not go to the new one, but fails with kUnavailable.
  [[nodiscard]] virtual std::uint64_t incarnation() const { return 0; }
  // How long to leave it to wait_past() to notice what others append before looking with read():
  // longer where looking costs money.
  [[nodiscard]] virtual Duration look_interval() const { return std::chrono::milliseconds(500); }
  // After the last call: ends what the log does by itself. Before the log is destroyed.
  virtual Task<void> stop() { co_return; }
};

}  // namespace weir::metadata

// Which cluster an object store belongs to. Keys of objects do not have the cluster's id: two
// clusters in one store would overwrite and delete each other's records. So the store has a marker
// with the id of its cluster (metadata/store_marker.h), and every broker compares it with the
// log's at every start, before it writes or deletes anything there.
//
// The first broker of a new cluster writes the marker, after the log has got its id and before it
// gets an entry. Where the marker is missing later, what lies in the store tells whose it is; a
// store that holds nothing of a cluster whose log has entries is not its store.
// docs/formats/store-marker.md has the cases.
#pragma once
#include "metadata/log/metadata_log.h"
#include "runtime/rng.h"
#include "runtime/task_group.h"
#include "storage/object_store.h"

#include <mutex>
#include <string>

namespace weir::metadata {

// Log and store as people know them: their URLs, without passwords.
struct StoreClaimNames {
  std::string log;
  std::string store;
};

// The id of the cluster that both belong to. kConflict: they do not belong together; the message
// says what would be right. Other errors: it was not found out; try again.
[[nodiscard]] Task<Result<Uuid>> claim_store(MetadataLog& log, storage::ObjectStore& store,
                                             StoreClaimNames names, Rng& rng);

// For those who only read: kConflict where the marker names another cluster than the log.
[[nodiscard]] Task<Status> check_store(MetadataLog& log, storage::ObjectStore& store,
                                       StoreClaimNames names);

// A broker's claim at its start, for as long as store or log are down. Owned by the broker process;
// log, store and clock outlive it.
class StoreClaim {
 public:
  StoreClaim(MetadataLog& log, storage::ObjectStore& store, StoreClaimNames names, Clock& clock,
             Rng rng);

  // Returns when it is known; once, and within `group`. kConflict, kCancelled: the group stops.
  Task<Status> run(TaskGroup& group);
  // Success when it is known that they belong together; else why not, or why that is not known
  // yet. Any thread.
  [[nodiscard]] Status status() const;

 private:
  void set(Status status);

  MetadataLog& log_;
  storage::ObjectStore& store_;
  const StoreClaimNames names_;
  Clock& clock_;
  Rng rng_;
  mutable std::mutex mutex_;
  Status status_;
};

}  // namespace weir::metadata

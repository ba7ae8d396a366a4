// Sees what no broker can: every entry of the metadata log as it comes to stand there, and every
// object as it comes to the store and goes. It applies the entries to a state of its own, which
// never restarts and never loads a snapshot, and tells the checkers what follows. Owned by the
// simulation.
#pragma once
#include "metadata/log/metadata_log.h"
#include "metadata/state/state.h"
#include "sim/faults.h"
#include "sim/group_witness.h"
#include "storage/object_store.h"

#include <set>

namespace weir::sim {

struct WitnessOptions {
  Duration orphan_grace{};
  Duration delete_grace{};
  // How wrong the clocks of two brokers may be beside each other, at most.
  Duration clock_error{};
  // Committed offsets last at least so long, whatever the clocks show.
  Duration offsets_retention = std::chrono::hours(7 * 24);
};

class Witness {
 public:
  // `store`: without faults.
  Witness(World& world, const Weather& weather, History& history, storage::ObjectStore& store,
          WitnessOptions options)
      : world_(world),
        weather_(weather),
        history_(&history),
        store_(store),
        options_(options),
        groups_(history, options.offsets_retention) {}

  // `process` is a number that no two broker processes have.
  Task<void> entry(metadata::LogEntry entry);
  [[nodiscard]] metadata::Position position() const { return state_.position(); }
  void stored(const storage::ObjectKey& key, std::uint64_t process);
  void recorded(const metadata::SnapshotRef& snapshot) { snapshots_.insert(snapshot.manifest_key); }
  // The log has named the snapshot: it is none that is just being written.
  [[nodiscard]] bool was_recorded(const metadata::SnapshotRef& snapshot) const {
    return snapshots_.contains(snapshot.manifest_key);
  }
  // Before they are removed.
  Task<void> removing(std::vector<storage::ObjectKey> keys, std::uint64_t process);
  // The log returns to the state in which it ended at `tail`. What is seen from now on is told to
  // `history`.
  void begin_anew(metadata::Position tail, History& history);
  // A broker finds that the log holds another history than it read.
  void diverged(BrokerId broker, const Error& why);
  void answered_from_lost_history(BrokerId broker);

  // At the end: extents, references, what is left in the store, and of groups.
  Task<void> judge_end();

  [[nodiscard]] const metadata::State& state() const { return state_; }
  // Nothing: there is no such partition, or the group has committed nothing of it.
  [[nodiscard]] Offset high_watermark(const Where& where) const;
  [[nodiscard]] Offset committed(const std::string& group, const Where& where) const;

 private:
  struct Object {
    MonoTime stored;
    std::uint64_t writer = 0;
    bool was_committed = false;
  };
  Task<void> see_commit(const metadata::CommitObject& command);
  void tell_ends();
  Task<void> read_extents();
  Task<void> look_for_left_objects();
  void tell_of_entry(const metadata::Record& record, const metadata::Applied& applied);
  void see_groups(const metadata::Record& record, const metadata::Applied& applied);
  void see_epochs(const metadata::Record& record, const metadata::Applied& applied);
  void tell_of(const TopicId& topic, PartitionIndex partition,
               const std::function<std::string()>& text);
  [[nodiscard]] const metadata::TopicState* topic(std::int32_t number) const;

  // Since an object has no extent; for ever, if the state does not know since when.
  [[nodiscard]] Duration unneeded_for(const metadata::ObjectState& object) const;

  World& world_;
  const Weather& weather_;
  History* history_;
  storage::ObjectStore& store_;
  const WitnessOptions options_;
  std::vector<MonoTime> seen_;  // when the entries came, from the first on
  bool looks_ = true;
  bool was_restored_ = false;
  metadata::State state_;
  std::vector<metadata::LogEntry> entries_;  // all of them
  std::map<storage::ObjectKey, Object> objects_;
  std::set<storage::ObjectKey> snapshots_;
  std::map<BrokerId, BrokerEpoch> epochs_;  // the latest
  std::set<BrokerEpoch> over_;              // no two registrations have the same
  GroupWitness groups_;
};

}  // namespace weir::sim

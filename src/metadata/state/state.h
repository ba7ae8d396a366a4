// The state machine: applies the entries of the metadata log in order. Pure: two states that
// applied the same entries are equal and answer the same, on every broker. The coordinator's thread
// alone uses it.
#pragma once
#include "base/error.h"
#include "metadata/log/metadata_log.h"
#include "metadata/state/apply.h"
#include "metadata/state/hash_chain.h"
#include "metadata/state/record.h"
#include "metadata/state/tables.h"

#include <cstdint>
#include <vector>

namespace weir::metadata {

class PublishedState;

constexpr BrokerEpoch kEveryEpoch = -2;

struct Applied {
  enum class Outcome {
    kApplied,
    kRepeated,  // a record of this epoch and sequence was applied before: no effect
    kFenced,    // the writer's epoch had ended: no effect
    kForeign,   // the writer knew an entry that is not before this one: no effect. The log had been
                // restored to an older state, which the writer had not noticed yet
  };
  Outcome outcome = Outcome::kApplied;
  RecordHeader header;
  std::vector<CommandResult> results;  // per command; empty unless applied and asked for
};

// A record's time is that of its writer's clock, which may be a little behind another's: for the
// state, time does not go back for that. But a clock that is set wrong must not set the time of all
// for as long as it is ahead: beyond this the record's own time counts.
constexpr TimestampMs kMostTimeKept = 60'000;

class State {
 public:
  State() = default;
  // As of a snapshot.
  State(Tables tables, HashChain chain);

  // Entries come in order of their positions. After an error nothing was changed and nothing can
  // follow: kInvalid, a newer Weir wrote the entry; kCorrupt, the entry is damaged or its writer
  // saw another history.
  // Results are given for records of `results_of` only: others have no use for them.
  Result<Applied> apply(const LogEntry& entry, BrokerEpoch results_of = kEveryEpoch);

  [[nodiscard]] Position position() const { return chain_.position(); }
  [[nodiscard]] const HashChain& chain() const { return chain_; }
  [[nodiscard]] const Tables& tables() const { return tables_; }
  [[nodiscard]] std::uint64_t hash() const { return tables_.hash(); }

  // What changed since the last call, made visible to readers.
  Changes publish(PublishedState& readers);
  // All of it, for a state that was just loaded: partitions have new cells.
  Changes publish_all(PublishedState& readers);

 private:
  Applied apply_record(const Record& record, Position position, BrokerEpoch results_of);

  Tables tables_;
  HashChain chain_;
  Changes changes_;
};

}  // namespace weir::metadata

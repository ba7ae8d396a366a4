// Faults that are planted on purpose, one at a time, to prove that the simulator finds them
// (docs/simulator.md). They exist in a build with the CMake option WEIR_PLANTED_BUGS alone; in any
// other planted() is a constant false, and nothing of them is compiled.
#pragma once
#include "base/planted_switch.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace weir {

enum class Bug : std::uint8_t {
  kNone,
  kOffsetGivenTwice,
  kCommitBeforePut,
  kAcknowledgedUncommitted,
  kFenceIgnored,
  kStaleSnapshot,
  kSnapshotPrunedTooFar,
  kCacheMixesObjects,
  kOrphansWithoutGrace,
  kRecordAppliedTwice,
  kBatchAppliedTwice,
  kSequenceUnchecked,
  kEntrySkipped,
  kViewNotPublished,
  kReferencedObjectDeleted,
  kObjectsOfDeletedTopicsStay,
  kLogStartMovesBack,
  kOffsetsLostByClaim,
  kCommitLostByExpiry,
  kOldGenerationCommits,
  kTwoGroupOwners,
  kUnknownAppendTakenAsFailed,
  kFinalErrorTakenAsRefusal,
  kBatchesReordered,
  kHighWatermarkTooHigh,
  kWrongBaseOffset,
  kChecksumUnchecked,
  kWakeUpLost,
  kMemoryKept,
  kRecompressionDropsRecord,
  kProducerIdGivenTwice,
  kOutOfRangeUnconfirmed,
  kStaleLatestOffset,
  kStaleGroupOffsets,
  kRestoredLogUnnoticed,
  kTrimsTooMuch,
  kExtentsMiscounted,
  kEmptyGroupsStay,
  kDeleteGraceIgnored,
  kSessionStandsStill,
  kOrphansStay,
  kOldInstanceCommits,
  kAnsweredWithoutAcks,
  kForgottenPartitionStays,
  kEnd,  // no bug: the last one is before it
};

struct PlantedBug {
  Bug bug = Bug::kNone;
  std::string_view name;
  std::string_view what;
  std::string_view found_by;  // the simulator's checker that must name it
};

// All of them, in every build.
[[nodiscard]] std::span<const PlantedBug> planted_bugs();
[[nodiscard]] bool can_plant();
// For the whole process, before anything runs.
void plant(Bug bug);

#ifdef WEIR_PLANTED_BUGS
[[nodiscard]] bool planted(Bug bug);
#else
[[nodiscard]] constexpr bool planted(Bug) { return false; }
#endif

}  // namespace weir

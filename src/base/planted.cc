#include "base/planted.h"

#include <array>

namespace weir {
namespace {

constexpr std::array kBugs{
    PlantedBug{Bug::kOffsetGivenTwice, "offset-given-twice",
               "the next batch gets the last offset of the one before"},
    PlantedBug{Bug::kCommitBeforePut, "commit-before-put",
               "an object is committed while its upload is still under way"},
    PlantedBug{Bug::kAcknowledgedUncommitted, "acknowledged-uncommitted",
               "a batch whose commit failed is acknowledged"},
    PlantedBug{Bug::kFenceIgnored, "fence-ignored", "what a fenced broker appends is applied"},
    PlantedBug{Bug::kStaleSnapshot, "stale-snapshot",
               "a snapshot keeps the partitions of the one before"},
    PlantedBug{Bug::kSnapshotPrunedTooFar, "snapshot-pruned-too-far",
               "chunks that the latest snapshot shares with older ones are deleted"},
    PlantedBug{Bug::kCacheMixesObjects, "cache-mixes-objects",
               "the cache takes objects of one number for the same, whoever wrote them"},
    PlantedBug{Bug::kOrphansWithoutGrace, "orphans-without-grace",
               "orphans are deleted however young they are"},
    PlantedBug{Bug::kRecordAppliedTwice, "record-applied-twice",
               "an entry of the log that was appended twice is applied twice"},
    PlantedBug{Bug::kBatchAppliedTwice, "batch-applied-twice",
               "the repeated batch of an idempotent producer is stored again"},
    PlantedBug{Bug::kSequenceUnchecked, "sequence-unchecked",
               "an idempotent producer's batch is taken when one before it is missing"},
    PlantedBug{Bug::kEntrySkipped, "entry-skipped", "a broker skips some entries of the log"},
    PlantedBug{Bug::kViewNotPublished, "view-not-published",
               "readers are not shown some commits before the next one"},
    PlantedBug{Bug::kReferencedObjectDeleted, "referenced-object-deleted",
               "an object is deletable while one extent still lies in it"},
    PlantedBug{Bug::kObjectsOfDeletedTopicsStay, "objects-of-deleted-topics-stay",
               "the objects of deleted topics are never deletable"},
    PlantedBug{Bug::kLogStartMovesBack, "log-start-moves-back",
               "DeleteRecords with an older offset moves the log start back"},
    PlantedBug{Bug::kOffsetsLostByClaim, "offsets-lost-by-claim",
               "a group loses its offsets when another broker takes it over"},
    PlantedBug{Bug::kCommitLostByExpiry, "commit-lost-by-expiry",
               "a group is deleted as expired with what was committed since it was looked at"},
    PlantedBug{Bug::kOldGenerationCommits, "old-generation-commits",
               "a member commits offsets with a generation that is over"},
    PlantedBug{Bug::kTwoGroupOwners, "two-group-owners",
               "a broker goes on with a group that another one has claimed"},
    PlantedBug{Bug::kUnknownAppendTakenAsFailed, "unknown-append-taken-as-failed",
               "an append whose answer was lost is taken as not done"},
    PlantedBug{Bug::kFinalErrorTakenAsRefusal, "final-error-taken-as-refusal",
               "an append is taken as not done when its error is none that passes"},
    PlantedBug{Bug::kBatchesReordered, "batches-reordered",
               "objects are committed in the order in which their uploads end"},
    PlantedBug{Bug::kHighWatermarkTooHigh, "high-watermark-too-high",
               "Fetch tells a high watermark beyond what is committed"},
    PlantedBug{Bug::kWrongBaseOffset, "wrong-base-offset",
               "every batch of an extent gets the extent's first offset"},
    PlantedBug{Bug::kChecksumUnchecked, "checksum-unchecked",
               "damaged batches are served to consumers"},
    PlantedBug{Bug::kWakeUpLost, "wake-up-lost", "a commit does not wake waiting fetches"},
    PlantedBug{Bug::kMemoryKept, "memory-kept", "some reserved memory is never given back"},
    PlantedBug{Bug::kRecompressionDropsRecord, "recompression-drops-record",
               "a batch loses a record when it is compressed anew"},
    PlantedBug{Bug::kProducerIdGivenTwice, "producer-id-given-twice",
               "two brokers get the same block of producer ids"},
    PlantedBug{Bug::kOutOfRangeUnconfirmed, "out-of-range-unconfirmed",
               "a broker that is behind answers that an offset is out of range"},
    PlantedBug{Bug::kStaleLatestOffset, "stale-latest-offset",
               "ListOffsets does not ask the log for its end"},
    PlantedBug{Bug::kStaleGroupOffsets, "stale-group-offsets",
               "OffsetFetch does not ask the log for its end"},
    PlantedBug{Bug::kRestoredLogUnnoticed, "restored-log-unnoticed",
               "brokers go on when the log returns to an older state"},
};

#ifdef WEIR_PLANTED_BUGS
Bug the_bug = Bug::kNone;
#endif

}  // namespace

std::span<const PlantedBug> planted_bugs() { return kBugs; }

#ifdef WEIR_PLANTED_BUGS
bool can_plant() { return true; }
void plant(Bug bug) { the_bug = bug; }
bool planted(Bug bug) { return the_bug == bug; }
#else
bool can_plant() { return false; }
void plant(Bug) {}
#endif

}  // namespace weir

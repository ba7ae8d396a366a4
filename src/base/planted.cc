#include "base/planted.h"

#include <array>

namespace weir {
namespace {

constexpr std::array kBugs{
    PlantedBug{Bug::kOffsetGivenTwice, "offset-given-twice",
               "the next batch gets the last offset of the one before", "one value per offset"},
    PlantedBug{Bug::kCommitBeforePut, "commit-before-put",
               "an object is committed while its upload is still under way",
               "an object is stored before it is committed"},
    PlantedBug{Bug::kAcknowledgedUncommitted, "acknowledged-uncommitted",
               "a batch whose commit failed is acknowledged", "nothing lost"},
    PlantedBug{Bug::kFenceIgnored, "fence-ignored", "what a fenced broker appends is applied",
               "entries of fenced brokers have no effect"},
    PlantedBug{Bug::kStaleSnapshot, "stale-snapshot",
               "a snapshot keeps the partitions of the one before",
               "there is always a snapshot to start from"},
    PlantedBug{Bug::kSnapshotPrunedTooFar, "snapshot-pruned-too-far",
               "chunks that the latest snapshot shares with older ones are deleted",
               "there is always a snapshot to start from"},
    PlantedBug{Bug::kCacheMixesObjects, "cache-mixes-objects",
               "the cache takes objects of one number for the same, whoever wrote them",
               "one value per offset"},
    PlantedBug{Bug::kOrphansWithoutGrace, "orphans-without-grace",
               "orphans are deleted however young they are",
               "orphans are deleted after their grace period"},
    PlantedBug{Bug::kRecordAppliedTwice, "record-applied-twice",
               "an entry of the log that was appended twice is applied twice",
               "committed offsets neither vanish nor go back"},
    PlantedBug{Bug::kBatchAppliedTwice, "batch-applied-twice",
               "the repeated batch of an idempotent producer is stored again",
               "no duplicates but by retries of plain producers"},
    PlantedBug{Bug::kSequenceUnchecked, "sequence-unchecked",
               "an idempotent producer's batch is taken when one before it is missing",
               "in order per producer and partition"},
    PlantedBug{Bug::kEntrySkipped, "entry-skipped", "a broker skips some entries of the log",
               "one state at one position"},
    PlantedBug{Bug::kViewNotPublished, "view-not-published",
               "readers are not shown some commits before the next one", "liveness"},
    PlantedBug{Bug::kReferencedObjectDeleted, "referenced-object-deleted",
               "an object is deletable while one extent still lies in it",
               "no object is deleted while referenced"},
    PlantedBug{Bug::kObjectsOfDeletedTopicsStay, "objects-of-deleted-topics-stay",
               "the objects of deleted topics are never deletable",
               "references of objects are counted"},
    PlantedBug{Bug::kLogStartMovesBack, "log-start-moves-back",
               "DeleteRecords with an older offset moves the log start back",
               "high watermark and log start never go back"},
    PlantedBug{Bug::kOffsetsLostByClaim, "offsets-lost-by-claim",
               "a group loses its offsets when another broker takes it over",
               "committed offsets neither vanish nor go back"},
    PlantedBug{Bug::kCommitLostByExpiry, "commit-lost-by-expiry",
               "a group is deleted as expired with what was committed since it was looked at",
               "no offset expires before its time"},
    PlantedBug{Bug::kOldGenerationCommits, "old-generation-commits",
               "a member commits offsets with a generation that is over",
               "commits of old generations are refused"},
    PlantedBug{Bug::kTwoGroupOwners, "two-group-owners",
               "a broker goes on with a group that another one has claimed",
               "one owner of a partition in a generation"},
    PlantedBug{Bug::kUnknownAppendTakenAsFailed, "unknown-append-taken-as-failed",
               "an append whose answer was lost is taken as not done",
               "no object is deleted while referenced"},
    PlantedBug{Bug::kFinalErrorTakenAsRefusal, "final-error-taken-as-refusal",
               "an append is taken as not done when its error is none that passes",
               "every extent is readable"},
    PlantedBug{Bug::kBatchesReordered, "batches-reordered",
               "objects are committed in the order in which their uploads end",
               "in the order of sending"},
    PlantedBug{Bug::kAnsweredWithoutAcks, "answered-without-acks",
               "a request with acks=0 is answered", "what is sent with acks=0 is not answered"},
    PlantedBug{Bug::kHighWatermarkTooHigh, "high-watermark-too-high",
               "Fetch tells a high watermark beyond what is committed",
               "no partition is told to end beyond the log"},
    PlantedBug{Bug::kWrongBaseOffset, "wrong-base-offset",
               "every batch of an extent gets the extent's first offset", "no offset left out"},
    PlantedBug{Bug::kChecksumUnchecked, "checksum-unchecked",
               "damaged batches are served to consumers", "every batch is whole"},
    PlantedBug{Bug::kWakeUpLost, "wake-up-lost", "a commit does not wake waiting fetches",
               "a commit wakes the fetches that wait for it"},
    PlantedBug{Bug::kMemoryKept, "memory-kept", "some reserved memory is never given back",
               "memory stays within limits and is given back"},
    PlantedBug{Bug::kRecompressionDropsRecord, "recompression-drops-record",
               "a batch loses a record when it is compressed anew", "no offset left out"},
    PlantedBug{Bug::kProducerIdGivenTwice, "producer-id-given-twice",
               "two brokers get the same block of producer ids", "nothing lost"},
    PlantedBug{Bug::kOutOfRangeUnconfirmed, "out-of-range-unconfirmed",
               "a broker that is behind answers that an offset is out of range", "no wrong errors"},
    PlantedBug{Bug::kStaleLatestOffset, "stale-latest-offset",
               "ListOffsets does not ask the log for its end", "the latest offset is not stale"},
    PlantedBug{Bug::kStaleGroupOffsets, "stale-group-offsets",
               "OffsetFetch does not ask the log for its end",
               "committed offsets neither vanish nor go back"},
    PlantedBug{Bug::kRestoredLogUnnoticed, "restored-log-unnoticed",
               "brokers go on when the log returns to an older state",
               "a log that went back is noticed"},
    PlantedBug{Bug::kTrimsTooMuch, "trims-too-much", "DeleteRecords deletes one record more",
               "nothing is deleted unasked"},
    PlantedBug{Bug::kExtentsMiscounted, "extents-miscounted",
               "an object counts one extent too many", "references of objects are counted"},
    PlantedBug{Bug::kEmptyGroupsStay, "empty-groups-stay",
               "a group stays when its last offset has expired",
               "no group is left that nobody needs"},
    PlantedBug{Bug::kDeleteGraceIgnored, "delete-grace-ignored",
               "an object is deleted at once when its last extent is gone",
               "unneeded objects are deleted after their grace period"},
    PlantedBug{Bug::kOldInstanceCommits, "old-instance-commits",
               "a static member commits offsets with an id that it has no more",
               "commits of replaced static members are refused"},
    PlantedBug{Bug::kOrphansStay, "orphans-stay", "orphans are never deleted",
               "no object is left that nobody needs"},
    PlantedBug{Bug::kForgottenPartitionStays, "forgotten-partition-stays",
               "a fetch session goes on with partitions that it was told to forget",
               "a fetch answers what was asked for"},
    PlantedBug{Bug::kSessionStandsStill, "session-stands-still",
               "a fetch session reads on where it began", "liveness"},
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

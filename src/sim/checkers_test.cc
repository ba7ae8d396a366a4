// Each checker finds what it is for, and nothing in a history that is as it should be.
#include "sim/checkers.h"

#include "base/planted.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Names = std::vector<std::string>;

const Where kHere{kOrders, 0};
const Where kTrimmed{kEvents, 1};

MonoTime at(int second) { return MonoTime(seconds(second)); }

Bounds told(std::uint64_t process, Offset start, Offset end, Moment asked, Moment answered) {
  return {.process = process,
          .where = kHere,
          .log_start = start,
          .high_watermark = end,
          .asked = asked,
          .at = answered};
}

Names found_in(const std::function<void(Checker&)>& history) {
  Names names;
  for (const auto& checker : make_checkers()) {
    history(*checker);
    checker->on_end();
    if (!checker->violations().empty()) names.emplace_back(checker->name());
  }
  return names;
}

TEST(CheckersTest, AGoodHistoryOfRecordsHasNoViolations) {
  EXPECT_EQ(found_in([](Checker& checker) {
              checker.on_acknowledged({kHere, 0, "i1-0-0-0", 1});
              checker.on_batch({.connection = 1, .number = 2, .where = kHere, .base_offset = 5});
              checker.on_batch({.connection = 1, .number = 1, .where = kHere, .base_offset = 3});
              checker.on_batch({.connection = 2, .number = 3, .where = kHere, .base_offset = 1});
              checker.on_sent({.connection = 3, .number = 1, .where = kHere}, "s4-0-0-0");
              checker.on_sent({.connection = 3, .number = 2, .where = kHere}, "s4-0-0-1");  // lost
              checker.on_sent({.connection = 3, .number = 3, .where = kHere}, "s4-0-0-2");
              checker.on_read({kHere, 0, "i1-0-0-0"});
              checker.on_read({kHere, 1, "i1-0-0-1"});
              checker.on_read({kHere, 2, "p2-0-0-0"});
              checker.on_read({kHere, 3, "p2-0-0-0"});  // a plain producer's retry
              checker.on_read({kHere, 4, "s4-0-0-0"});
              checker.on_read({kHere, 4, "s4-0-0-0"});  // once more by another consumer
              checker.on_read({kHere, 5, "s4-0-0-2"});
              checker.on_bounds(told(1, 0, 2, 10, 11));
              checker.on_bounds(told(1, 0, 1, 10, 12));  // was on its way with the other
              checker.on_bounds(told(2, 0, 1, 13, 14));  // another broker may be behind
              checker.on_latest(kHere, 1, 0);            // asked before it was acknowledged
              checker.on_latest(kHere, 2, 1);
              checker.on_log_end(kHere, at(1), 3);
              checker.on_log_end(kHere, at(3), 4);
              checker.on_end_told(kHere, at(2), 3);
              checker.on_end_told(kHere, at(3), 4);
              checker.on_end_told(kTrimmed, at(3), 9);  // of which nothing is known
              checker.on_damage_told(kHere, 0, true);
              checker.on_divergence(1, "position 7", true);
            }),
            Names());
}

TEST(CheckersTest, WhatWasDeletedOnRequestMayBeMissing) {
  EXPECT_EQ(
      found_in([](Checker& checker) {
        checker.on_acknowledged({kTrimmed, 1, "i1-1-1-1"});
        checker.on_trim_asked(kTrimmed, 2);
        checker.on_read({kTrimmed, 0, "i1-1-1-0"});
        checker.on_read({kTrimmed, 2, "i1-1-1-2"});
        checker.on_out_of_range(kTrimmed, 1);
        checker.on_bounds({.process = 1, .where = kTrimmed, .log_start = 2, .high_watermark = 3});
      }),
      Names());
}

TEST(CheckersTest, AGoodHistoryOfGroupsAndBrokersHasNoViolations) {
  EXPECT_EQ(
      found_in([](Checker& checker) {
        checker.on_state(5, 77);
        checker.on_state(5, 77);
        checker.on_committed({.group = "g", .where = kHere, .offset = 3, .sent = 1, .at = 2});
        checker.on_committed_read("g", kHere, 2, at(1), kNoOffset);  // asked before it was answered
        checker.on_committed_read("g", kHere, 3, at(1), 3);
        checker.on_committed(
            {.group = "h", .where = kHere, .offset = 9, .at = 3, .lasts_until = at(5)});
        checker.on_committed_read("h", kHere, 4, at(6), kNoOffset);
        checker.on_committed(
            {.group = "h", .where = kHere, .offset = 2, .at = 5, .lasts_until = at(11)});
        checker.on_committed_read("h", kHere, 6, at(10), 2);
        checker.on_expired({.group = "h", .early_ms = -1});
        checker.on_assigned({.group = "g", .generation = 1, .member = "a", .partitions = {0, 1}});
        checker.on_assigned(
            {.group = "g", .generation = 2, .member = "b", .partitions = {1}, .at = 9});
        checker.on_committed(
            {.group = "g", .generation = 1, .where = kHere, .offset = 4, .sent = 8, .at = 10});
        // A static member is back under another id.
        checker.on_assigned(
            {.group = "s", .generation = 1, .member = "s-1", .instance = "s", .partitions = {0}});
        checker.on_assigned(
            {.group = "s", .generation = 1, .member = "s-2", .instance = "s", .partitions = {0}});
        checker.on_joined({.group = "s", .instance = "s", .member = "s-1", .at = 1});
        checker.on_joined({.group = "s", .instance = "s", .member = "s-2", .at = 5});
        checker.on_committed({.group = "s",
                              .member = "s-1",
                              .instance = "s",
                              .where = kTrimmed,
                              .sent = 4,
                              .at = 6});  // was on its way
        checker.on_committed({.group = "s",
                              .member = "s-2",
                              .instance = "s",
                              .where = kTrimmed,
                              .sent = 7,
                              .at = 8});
        // Deleted and made again.
        checker.on_member("c", 7);
        checker.on_assigned(
            {.group = "g", .generation = 1, .member = "c", .partitions = {0}, .at = 11});
        checker.on_committed({.group = "g",
                              .generation = 1,
                              .member = "c",
                              .where = kHere,
                              .offset = 4,
                              .sent = 12,
                              .at = 13});
        checker.on_object_committed("data/1", true);
        checker.on_object_removed({.key = "data/1",
                                   .age = seconds(5),
                                   .grace = seconds(20),
                                   .unneeded_for = seconds(6),
                                   .delete_grace = seconds(6)});
        checker.on_object_removed(
            {.key = "data/2", .is_foreign = true, .age = seconds(30), .grace = seconds(20)});
        checker.on_references("data/1", 2, 2);
        checker.on_extent("data/1", "");
        checker.on_memory({.broker = 1, .used = 10, .limit = 10});
        checker.on_memory({.broker = 1, .used = 0, .limit = 10, .is_idle = true});
        checker.on_wake_up(1, milliseconds(300));
      }),
      Names());
}

// What happens, and the checkers that must see it.
struct Bad {
  std::function<void(Checker&)> history;
  Names found;
};

void expect_found(const std::vector<Bad>& all) {
  for (const Bad& bad : all) EXPECT_EQ(found_in(bad.history), bad.found) << bad.found.front();
}

TEST(CheckersTest, WhatIsWrongWithRecords) {
  expect_found({
      {[](Checker& c) { c.on_acknowledged({kHere, 0, "i1-0-0-0"}); }, {"nothing lost"}},
      {[](Checker& c) {
         c.on_acknowledged({kHere, 0, "i1-0-0-0"});
         c.on_read({kHere, 0, "i1-0-0-0"});
         c.on_last_reading();
       },
       {"nothing lost"}},
      {[](Checker& c) {
         c.on_read({kHere, 0, "p1-0-0-0"});
         c.on_read({kHere, 0, "p1-0-0-1"});
       },
       {"one value per offset"}},
      {[](Checker& c) {
         c.on_read({kHere, 0, "i1-0-0-0"});
         c.on_read({kHere, 1, "i1-0-0-0"});
       },
       {"no duplicates but by retries of plain producers", "in order per producer and partition"}},
      {[](Checker& c) {
         c.on_read({kHere, 0, "i1-0-0-1"});
         c.on_read({kHere, 1, "i1-0-0-0"});
       },
       {"in order per producer and partition"}},
      {[](Checker& c) {
         c.on_read({kHere, 0, "i1-0-0-0"});
         c.on_read({kHere, 1, "i1-0-0-2"});
       },
       {"in order per producer and partition"}},
      {[](Checker& c) {
         c.on_batch({.connection = 1, .number = 1, .where = kHere, .base_offset = 5});
         c.on_batch({.connection = 1, .number = 2, .where = kHere, .base_offset = 3});
       },
       {"in the order of sending"}},
      {[](Checker& c) {
         c.on_sent({.connection = 1, .number = 1, .where = kHere}, "s1-0-0-0");
         c.on_sent({.connection = 1, .number = 2, .where = kHere}, "s1-0-0-1");
         c.on_read({kHere, 4, "s1-0-0-1"});
         c.on_read({kHere, 5, "s1-0-0-0"});
       },
       {"in the order of sending"}},
      {[](Checker& c) {
         c.on_read({kHere, 4, "s1-0-0-0"});
         c.on_read({kHere, 5, "s1-0-0-0"});
       },
       {"no duplicates but by retries of plain producers"}},
      {[](Checker& c) { c.on_unasked_answer(1); }, {"what is sent with acks=0 is not answered"}},
      {[](Checker& c) { c.on_gap(kHere, 3, 5); }, {"no offset left out"}},
      {[](Checker& c) { c.on_broken_batch(kHere, 3); }, {"every batch is whole"}},
  });
}

TEST(CheckersTest, WhatWasReadInAWrongOrderCountsWhenItIsDeleted) {
  EXPECT_EQ(found_in([](Checker& c) {
              c.on_read({kTrimmed, 0, "i1-1-1-1"});
              c.on_read({kTrimmed, 1, "i1-1-1-0"});
              c.on_trim_asked(kTrimmed, 2);
              c.on_last_reading();
            }),
            Names{"in order per producer and partition"});
}

TEST(CheckersTest, WhatIsWrongWithWhatIsToldOfPartitions) {
  expect_found({
      {[](Checker& c) { c.on_out_of_range(kHere, 3); }, {"no wrong errors"}},
      {[](Checker& c) { c.on_damage_told(kHere, 3, false); }, {"no wrong errors"}},
      {[](Checker& c) { c.on_unasked_partition(kHere, 1); },
       {"a fetch answers what was asked for"}},
      {[](Checker& c) {
         c.on_bounds(told(1, 0, 2, 1, 2));
         c.on_bounds(told(1, 0, 1, 3, 4));
       },
       {"high watermark and log start never go back"}},
      {[](Checker& c) {
         c.on_trim_asked(kHere, 2);
         c.on_bounds(told(1, 2, 9, 1, 2));
         c.on_bounds(told(1, 1, 9, 3, 4));
       },
       {"high watermark and log start never go back"}},
      {[](Checker& c) {
         c.on_trim_asked(kHere, 2);
         c.on_bounds(told(1, 3, 9, 1, 2));
       },
       {"nothing is deleted unasked"}},
      {[](Checker& c) {
         c.on_log_end(kHere, at(1), 3);
         c.on_log_end(kHere, at(3), 4);
         c.on_end_told(kHere, at(2), 4);
       },
       {"no partition is told to end beyond the log"}},
      {[](Checker& c) {
         c.on_log_end(kHere, at(2), 1);
         c.on_end_told(kHere, at(1), 1);
       },
       {"no partition is told to end beyond the log"}},
      {[](Checker& c) {
         c.on_acknowledged({kHere, 4, "p1-0-0-0", 7});
         c.on_read({kHere, 4, "p1-0-0-0"});
         c.on_latest(kHere, 8, 4);
       },
       {"the latest offset is not stale"}},
  });
}

TEST(CheckersTest, WhatIsWrongWithGroups) {
  expect_found({
      {[](Checker& c) {
         c.on_committed({.group = "g", .where = kHere, .offset = 2, .at = 1});
         c.on_committed_read("g", kHere, 2, at(0), 1);
       },
       {"committed offsets neither vanish nor go back"}},
      {[](Checker& c) {
         c.on_committed({.group = "g", .where = kHere, .offset = 2, .at = 1, .lasts_until = at(5)});
         c.on_committed({.group = "g", .where = kHere, .offset = 3, .at = 2, .lasts_until = at(9)});
         c.on_committed_read("g", kHere, 3, at(6), 2);
       },
       {"committed offsets neither vanish nor go back"}},
      {[](Checker& c) { c.on_expired({.group = "g", .early_ms = 1}); },
       {"no offset expires before its time"}},
      {[](Checker& c) { c.on_expired({.group = "g", .has_members = true, .early_ms = -1}); },
       {"no offset expires before its time"}},
      {[](Checker& c) { c.on_left_group("g", "no offsets"); },
       {"no group is left that nobody needs"}},
      {[](Checker& c) {
         c.on_assigned({.group = "g", .generation = 1, .member = "a", .partitions = {0}});
         c.on_assigned({.group = "g", .generation = 1, .member = "b", .partitions = {0}});
       },
       {"one owner of a partition in a generation"}},
      {[](Checker& c) {
         c.on_assigned({.group = "g", .generation = 2, .member = "a", .partitions = {}, .at = 5});
         c.on_committed({.group = "g", .generation = 1, .where = kHere, .sent = 6, .at = 7});
       },
       {"commits of old generations are refused"}},
      {[](Checker& c) {
         c.on_joined({.group = "g", .instance = "i", .member = "i-1", .at = 1});
         c.on_joined({.group = "g", .instance = "i", .member = "i-2", .at = 5});
         c.on_committed(
             {.group = "g", .member = "i-1", .instance = "i", .where = kHere, .sent = 6, .at = 7});
       },
       {"commits of replaced static members are refused"}},
  });
}

TEST(CheckersTest, WhatIsWrongWithBrokers) {
  expect_found({
      {[](Checker& c) {
         c.on_state(5, 77);
         c.on_state(5, 78);
       },
       {"one state at one position"}},
      {[](Checker& c) { c.on_fenced_entry(1, 5, 9); },
       {"entries of fenced brokers have no effect"}},
      {[](Checker& c) { c.on_snapshot_lost("none"); },
       {"there is always a snapshot to start from"}},
      {[](Checker& c) { c.on_object_committed("data/1", false); },
       {"an object is stored before it is committed"}},
      {[](Checker& c) { c.on_object_removed({.key = "data/1", .is_referenced = true}); },
       {"no object is deleted while referenced"}},
      {[](Checker& c) {
         c.on_object_removed(
             {.key = "data/1", .is_foreign = true, .age = seconds(5), .grace = seconds(20)});
       },
       {"orphans are deleted after their grace period"}},
      {[](Checker& c) {
         c.on_object_removed(
             {.key = "data/1", .unneeded_for = seconds(5), .delete_grace = seconds(6)});
       },
       {"unneeded objects are deleted after their grace period"}},
      {[](Checker& c) { c.on_left_object("data/1", "an orphan"); },
       {"no object is left that nobody needs"}},
      {[](Checker& c) { c.on_references("data/1", 2, 1); }, {"references of objects are counted"}},
      {[](Checker& c) { c.on_extent("data/1", "missing"); }, {"every extent is readable"}},
      {[](Checker& c) { c.on_memory({.broker = 1, .used = 11, .limit = 10}); },
       {"memory stays within limits and is given back"}},
      {[](Checker& c) { c.on_memory({.broker = 1, .used = 1, .limit = 10, .is_idle = true}); },
       {"memory stays within limits and is given back"}},
      {[](Checker& c) { c.on_wake_up(1, seconds(5)); },
       {"a commit wakes the fetches that wait for it"}},
      {[](Checker& c) { c.on_stuck("", "nothing goes on"); }, {"liveness"}},
      {[](Checker& c) { c.on_restore_unnoticed(1); }, {"a log that went back is noticed"}},
      {[](Checker& c) { c.on_divergence(1, "position 7", false); },
       {"a log that went back is noticed"}},
      {[](Checker& c) { c.on_answer_of_lost_history(1); }, {"a log that went back is noticed"}},
  });
}

// docs/simulator.md: for each promise a bug is planted that breaks it, and its own checker must say
// so. What another one finds first shows nothing of this one.
TEST(CheckersTest, EachIsForAPlantedBug) {
  std::set<std::string> names;
  for (const auto& checker : make_checkers()) names.insert(checker->name());
  std::set<std::string> aimed_at;
  for (const PlantedBug& planted : planted_bugs()) aimed_at.emplace(planted.found_by);
  EXPECT_EQ(aimed_at, names);
}

}  // namespace
}  // namespace weir::sim

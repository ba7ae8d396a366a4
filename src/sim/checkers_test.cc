// Each checker finds what it is for, and nothing in a history that is as it should be.
#include "sim/checkers.h"

#include <gtest/gtest.h>

#include <functional>

namespace weir::sim {
namespace {

std::vector<std::string> found_in(const std::function<void(Checker&)>& history) {
  std::vector<std::string> names;
  for (const auto& checker : make_checkers()) {
    history(*checker);
    checker->on_end();
    if (!checker->violations().empty()) names.emplace_back(checker->name());
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(CheckersTest, AGoodHistoryHasNoViolations) {
  EXPECT_EQ(found_in([](Checker& checker) {
              checker.on_acknowledged({0, 0, "i1-0-0"});
              checker.on_read({0, 0, "i1-0-0"});
              checker.on_read({0, 1, "i1-0-1"});
              checker.on_read({0, 2, "p2-0-0"});
              checker.on_read({0, 3, "p2-0-0"});  // a plain producer's retry
              checker.on_bounds(1, 0, 0, 2);
              checker.on_bounds(2, 0, 0, 1);  // another broker may be behind
              checker.on_bounds(1, 0, 1, 2);
              checker.on_state(5, 77);
              checker.on_state(5, 77);
              checker.on_committed("g", 0, 1);
              checker.on_committed_read("g", 0, 2);
            }),
            Names());
}

TEST(CheckersTest, ARecordThatWasAcknowledgedAndIsNotThere) {
  EXPECT_EQ(found_in([](Checker& checker) { checker.on_acknowledged({0, 0, "i1-0-0"}); }),
            Names{"nothing lost"});
}

TEST(CheckersTest, AnOffsetWithTwoValues) {
  EXPECT_EQ(found_in([](Checker& checker) {
              checker.on_read({0, 0, "p1-0-0"});
              checker.on_read({0, 0, "p1-0-1"});
            }),
            Names{"one value per offset"});
}

TEST(CheckersTest, ADuplicateOfAnIdempotentProducer) {
  EXPECT_EQ(
      found_in([](Checker& checker) {
        checker.on_read({0, 0, "i1-0-0"});
        checker.on_read({0, 1, "i1-0-0"});
      }),
      (Names{"no duplicates of idempotent producers", "in order per producer and partition"}));
}

TEST(CheckersTest, RecordsOutOfOrder) {
  EXPECT_EQ(found_in([](Checker& checker) {
              checker.on_read({0, 0, "i1-0-1"});
              checker.on_read({0, 1, "i1-0-0"});
            }),
            Names{"in order per producer and partition"});
}

TEST(CheckersTest, AHighWatermarkThatGoesBack) {
  EXPECT_EQ(found_in([](Checker& checker) {
              checker.on_bounds(1, 0, 0, 2);
              checker.on_bounds(1, 0, 0, 1);
            }),
            Names{"high watermark and log start never go back"});
}

TEST(CheckersTest, TwoStatesAtOnePosition) {
  EXPECT_EQ(found_in([](Checker& checker) {
              checker.on_state(5, 77);
              checker.on_state(5, 78);
            }),
            Names{"one state at one position"});
}

TEST(CheckersTest, ACommittedOffsetThatGoesBack) {
  EXPECT_EQ(found_in([](Checker& checker) {
              checker.on_committed("g", 0, 2);
              checker.on_committed_read("g", 0, 1);
            }),
            Names{"committed offsets neither vanish nor go back"});
}

}  // namespace
}  // namespace weir::sim

#include "metadata/log/object_log_test_fixture.h"

namespace weir::metadata {
namespace {

using storage::StoreCall;
using storage::StoreFault;
using storage::StoreOperation;

// A reader that knows an empty log, and a log that grows by groups of these first positions behind
// its back: each reaches up to the next, the last one up to `last`.
class BehindTest : public ObjectLogTest {
 protected:
  BehindTest() { EXPECT_EQ(run(reader_->tail()).value(), 0); }

  void put_group(Position first, Position last) {
    std::vector<Slice> entries;
    for (Position at = first; at <= last; ++at) {
      entries.push_back(Slice::copy_of(std::to_string(at)));
    }
    ASSERT_TRUE(
        run(memory_.put(object_log::key(object_log::kEntries, first),
                        object_log::encode_group({1, 1}, first, entries), {.if_absent = true})));
  }
  // Groups of three entries.
  void put_groups(Position upto) {
    for (Position first = 1; first <= upto; first += 3) put_group(first, first + 2);
  }
  void expect_read(Position upto) {
    std::string expected;
    for (Position at = 1; at <= upto; ++at) {
      expected += std::to_string(at) + ":" + std::to_string(at) + " ";
    }
    EXPECT_EQ(run(reader_->tail()).value(), upto);
    EXPECT_EQ(stored(*reader_), expected);
  }
  // Whether the plan's call is of this group.
  static bool is_get(const StoreCall& call, Position first) {
    return call.operation == StoreOperation::kGet &&
           call.key == object_log::key(object_log::kEntries, first);
  }

  std::shared_ptr<ObjectLog> reader_ = open_log(store_, clock_);
  boost::asio::io_context other_loop_;
};

TEST_F(BehindTest, ReadsMoreThanAListShows) {
  put_groups(900);
  const std::size_t gets = store_.calls(StoreOperation::kGet);
  expect_read(900);
  EXPECT_EQ(store_.calls(StoreOperation::kGet) - gets, 301U);
}

// Whoever wrote it, wrote where no group of the chain begins.
TEST_F(BehindTest, WhatLiesWithinAGroupDoesNotCount) {
  put_groups(60);
  for (const Position stray : {20, 33}) put_group(stray, stray + 10);
  ASSERT_TRUE(run(memory_.put(object_log::key(object_log::kEntries, 45),
                              Chain(Slice::copy_of("no group")), {})));
  expect_read(60);
}

TEST_F(BehindTest, WhatTheListShowsAndTheStoreHasNotIsTheEnd) {
  put_groups(60);
  store_.set_plan([](const StoreCall& call) {
    if (!is_get(call, 31)) return StoreFault{};
    return StoreFault{.error = Error{ErrorCode::kNotFound, "not there yet"}};
  });
  EXPECT_EQ(run(reader_->tail()).value(), 30);
  store_.set_plan({});
  expect_read(60);
}

// After a call that failed nothing that was read before is believed.
TEST_F(BehindTest, AFailureAmongManyIsOne) {
  put_groups(60);
  store_.set_plan([](const StoreCall& call) {
    if (!is_get(call, 31)) return StoreFault{};
    return StoreFault{.error = Error{ErrorCode::kUnavailable, "down"}};
  });
  EXPECT_EQ(run(reader_->tail()).error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(run(memory_.remove({object_log::key(object_log::kEntries, 58)})));
  store_.set_plan({});
  expect_read(57);
}

TEST_F(BehindTest, ADamagedGroupIsAnErrorWhereItCounts) {
  put_groups(60);
  ASSERT_TRUE(run(memory_.put(object_log::key(object_log::kEntries, 31),
                              Chain(Slice::copy_of("no group")), {})));
  EXPECT_EQ(run(reader_->tail()).error().code, ErrorCode::kCorrupt);
}

// It has the entries before from the broker that appends for all: an empty answer would say that
// the log has lost them.
TEST_F(BehindTest, ReadsOnFarBehindTheEndThatItKnows) {
  put_groups(900);
  EXPECT_EQ(stored(*reader_, 899), "900:900 ");
  EXPECT_EQ(stored(*reader_, 900), "");
}

TEST_F(BehindTest, DamageOnTheWayToWhatIsAskedForIsNoEnd) {
  put_groups(60);
  ASSERT_TRUE(run(memory_.put(object_log::key(object_log::kEntries, 31),
                              Chain(Slice::copy_of("no group")), {})));
  EXPECT_EQ(run(reader_->read(58, 1_MiB)).error().code, ErrorCode::kCorrupt);
}

// The mark comes while the groups are read.
TEST_F(BehindTest, WhatIsDeletedWhileItIsReadDoesNotCount) {
  put_groups(60);
  store_.set_plan([this, marked = false](const StoreCall& call) mutable {
    if (is_get(call, 31) && !std::exchange(marked, true)) {
      EXPECT_TRUE(run_task(other_loop_, memory_.put(object_log::key(object_log::kClosed, 0),
                                                    Chain(Slice::copy_of("closed")), {})));
    }
    return StoreFault{};
  });
  EXPECT_EQ(stored(*reader_), "unavailable: metadata log: trimmed past entry 61 meanwhile");
}

}  // namespace
}  // namespace weir::metadata

#include "storage/watched_store.h"

#include "runtime/log.h"
#include "runtime/test_loop.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace weir::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class WatchedStoreTest : public testing::Test {
 protected:
  WatchedStoreTest() {
    log::configure({.level = log::Level::kInfo,
                    .sink = [this](std::string_view line) { lines_.emplace_back(line); }});
  }
  ~WatchedStoreTest() override { log::configure({}); }

  // A put that the store answers after `took`, with an error where there is one.
  void put(std::optional<Error> error = std::nullopt, Duration took = {}) {
    faulty_.set_plan([&](const StoreCall&) {
      StoreFault fault;
      fault.error = error;
      fault.delay = took;
      return fault;
    });
    const Status done =
        run_in_time(context_, clock_, store_.put("k", Chain(Slice::copy_of("v")), {}));
    EXPECT_EQ(done.has_value(), !error);
  }
  [[nodiscard]] std::string why() const {
    Status status = store_.status();
    return status ? "up" : status.error().to_string();
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  MemoryStore memory_{clock_};
  FaultyStore faulty_{memory_, clock_};
  WatchedStore store_{faulty_, clock_};
  std::vector<std::string> lines_;
  const Error denied_{ErrorCode::kUnavailable, "permission denied"};
};

TEST_F(WatchedStoreTest, IsDownWhenPutsFailForSecondsAndUpWithTheNextSuccess) {
  for (int i = 0; i < 30; ++i) {
    put(denied_);
    clock_.advance(milliseconds(99));
  }
  EXPECT_EQ(why(), "up");
  EXPECT_TRUE(lines_.empty());
  clock_.advance(milliseconds(100));
  put(denied_);
  EXPECT_EQ(why(), "unavailable: the object store has taken no write for 3 s: permission denied");
  put(Error{ErrorCode::kTimeout, "no answer"});
  EXPECT_EQ(why(), "timed out: the object store has taken no write for 3 s: no answer");
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(lines_[0].contains("store.down")) << lines_[0];
  EXPECT_TRUE(lines_[0].contains("permission denied")) << lines_[0];
  clock_.advance(seconds(2));
  put();
  EXPECT_EQ(why(), "up");
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_TRUE(lines_[1].contains("store.up seconds=5")) << lines_[1];
}

TEST_F(WatchedStoreTest, ASuccessBetweenBeginsAnew) {
  put(denied_);
  clock_.advance(seconds(2));
  put();
  put(denied_);
  clock_.advance(seconds(2));
  put(denied_);
  EXPECT_EQ(why(), "up");
}

// A store that hangs is down as soon as one put was given up.
TEST_F(WatchedStoreTest, ThePutCountsFromItsBeginning) {
  put(Error{ErrorCode::kTimeout, "no answer"}, seconds(10));
  EXPECT_NE(why(), "up");
}

TEST_F(WatchedStoreTest, AFailureThatNothingFollowedGrowsOld) {
  put(denied_);
  clock_.advance(seconds(4));
  put(denied_);
  clock_.advance(seconds(29));
  EXPECT_NE(why(), "up");
  clock_.advance(seconds(1));
  EXPECT_EQ(why(), "up");
  // What is tried then shows whether it still fails; the log has said so.
  put(denied_);
  EXPECT_EQ(why(), "up");
  clock_.advance(seconds(3));
  put(denied_);
  EXPECT_NE(why(), "up");
  EXPECT_EQ(lines_.size(), 1U);
  put();
  EXPECT_EQ(lines_.size(), 2U);
}

TEST_F(WatchedStoreTest, AKeyThatIsTakenIsAnAnswer) {
  put(denied_);
  clock_.advance(seconds(4));
  put(Error{ErrorCode::kConflict, "it exists"});
  put(denied_);
  EXPECT_EQ(why(), "up");
}

}  // namespace
}  // namespace weir::storage

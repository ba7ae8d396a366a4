#include "metadata/log/object_log_test_fixture.h"

#include <boost/asio/co_spawn.hpp>

namespace weir::metadata {
namespace {

class TrimmedPastTest : public ObjectLogTest {
 protected:
  // Makes `log` grow by so many entries and trims it to the end.
  void grow_and_trim(MetadataLog& log, int count) {
    int done = 0;
    for (int i = 0; i < count; ++i) {
      boost::asio::co_spawn(loop, log.append(Slice::copy_of("more"), 1'000'000),
                            [&](const std::exception_ptr&, const Result<Appended>& appended) {
                              EXPECT_TRUE(appended);
                              if (++done == count) loop.stop();
                            });
    }
    loop.restart();
    loop.run();
    const Position end = run(log.tail()).value();
    ASSERT_TRUE(run(log.record_snapshot({end, "snapshots/x"})));
    auto trimmed = run(log.trim(end));
    ASSERT_TRUE(trimmed) << trimmed.error().to_string();
  }
};

// Nothing is where a broker that slept looks for the next entry: it must not write there.
TEST_F(TrimmedPastTest, ABrokerThatSleptDoesNotWriteWhereEntriesWereDeleted) {
  auto sleeper = open_log(store_, clock_);
  ASSERT_EQ(append(*sleeper, "a").value().position, 1);
  auto other = open_log(store_, clock_);
  grow_and_trim(*other, 2500);
  EXPECT_FALSE(run(memory_.head(object_log::key(object_log::kEntries, 2))));
  EXPECT_TRUE(run(memory_.head(object_log::key(object_log::kEntries, 2049))));
  auto lost = append(*sleeper, "b", 1);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable) << lost.error().to_string();
  EXPECT_EQ(append(*sleeper, "c", 1).value().position, 2502);
  EXPECT_EQ(run(sleeper->read(1, 1_MiB)).error().code, ErrorCode::kNotFound);
  // What it left is out of sight, also for who starts anew.
  auto fresh = open_log(store_, clock_);
  EXPECT_EQ(run(fresh->tail()).value(), 2502);
  EXPECT_EQ(stored(*fresh, 2501), "2502:c ");
}

TEST_F(TrimmedPastTest, ABrokerThatSleptLearnsTheEnd) {
  auto sleeper = open_log(store_, clock_);
  ASSERT_EQ(append(*sleeper, "a").value().position, 1);
  auto other = open_log(store_, clock_);
  grow_and_trim(*other, 2500);
  EXPECT_EQ(run(sleeper->tail()).value(), 2501);
  EXPECT_EQ(run(sleeper->read(1, 1_MiB)).error().code, ErrorCode::kNotFound);
}

// Two slept at the same place: what the one leaves there must not become an entry of the other.
TEST_F(TrimmedPastTest, ABrokerThatSleptDoesNotReadWhatAnotherOneLeft) {
  auto reader = open_log(store_, clock_);
  auto writer = open_log(store_, clock_);
  ManualClock still;  // it does not look before it writes
  auto rival = open_log(store_, still);
  ASSERT_EQ(append(*rival, "a").value().position, 1);
  for (MetadataLog* log : {reader.get(), writer.get()}) ASSERT_EQ(run(log->tail()).value(), 1);
  auto other = open_log(store_, clock_);
  grow_and_trim(*other, 2500);
  EXPECT_FALSE(append(*writer, "left", 1));
  ASSERT_TRUE(run(memory_.head(object_log::key(object_log::kEntries, 2))));
  EXPECT_EQ(run(reader->read(1, 1_MiB)).error().code, ErrorCode::kNotFound);
  // The one that meets it when it writes.
  EXPECT_EQ(append(*rival, "b", 1).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(append(*rival, "c", 1).value().position, 2502);
  EXPECT_EQ(run(rival->tail()).value(), 2502);
  // It goes with what is trimmed next.
  ASSERT_TRUE(run(other->record_snapshot({2502, "snapshots/y"})));
  ASSERT_TRUE(run(other->trim(2502)));
  EXPECT_FALSE(run(memory_.head(object_log::key(object_log::kEntries, 2))));
}

TEST_F(TrimmedPastTest, TheEndIsFoundWhenWholeBlocksAreGone) {
  auto log = open_log(store_, clock_);
  grow_and_trim(*log, 2048);
  auto fresh = open_log(store_, clock_);
  EXPECT_EQ(run(fresh->tail()).value(), 2048);
  EXPECT_EQ(append(*fresh, "next").value().position, 2049);
}

}  // namespace
}  // namespace weir::metadata

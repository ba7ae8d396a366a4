#include "compaction/object_deleter.h"

#include "compaction/retention.h"
#include "metadata/memory_coordinator.h"
#include "runtime/test_loop.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"
#include "storage/wal_object.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace weir::compaction {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr TopicId kKept{1, 1};
constexpr TopicId kTrimmed{2, 2};

// Its wall clock can be set wrong.
class MovedClock final : public Clock {
 public:
  [[nodiscard]] TimestampMs wall_ms() const override { return clock_.wall_ms() + moved_ms_; }
  [[nodiscard]] MonoTime now() const override { return clock_.now(); }
  std::shared_ptr<Timer> call_at(MonoTime when, Executor executor,
                                 std::move_only_function<void()> callback) override {
    return clock_.call_at(when, std::move(executor), std::move(callback));
  }
  void advance(Duration by) { clock_.advance(by); }
  void move_wall(TimestampMs ms) { moved_ms_ += ms; }

 private:
  ManualClock clock_;
  TimestampMs moved_ms_ = 0;
};

class CompactionTest : public ::testing::Test {
 protected:
  CompactionTest() {
    coordinator_.apply(
        metadata::CreateTopics{.topics = {{.name = "kept", .id = kKept, .partitions = 2},
                                          {.name = "trimmed", .id = kTrimmed, .partitions = 2}}});
  }

  // An object with one batch of ten records for each of the topics' partitions 0.
  storage::ObjectKey commit(const std::vector<TopicId>& topics) {
    metadata::CommitObject command{
        .object = {.epoch = coordinator_.broker_epoch(), .sequence = ++sequence_},
        .object_size = 1000};
    std::uint32_t at = 0;
    for (const TopicId& topic : topics) {
      command.runs.push_back({.topic = topic, .partition = 0, .byte_offset = at, .batch_count = 1});
      command.batches.push_back(
          {.length = 100, .last_offset_delta = 9, .max_timestamp = clock_.wall_ms()});
      at += 100;
    }
    EXPECT_EQ(coordinator_.apply(command).error, kafka::KafkaError::kNone);
    storage::ObjectKey key = storage::wal_object_key(command.object.epoch, sequence_);
    EXPECT_TRUE(run_task(context_, memory_.put(key, Chain(Slice::copy_of("bytes")), {})));
    return key;
  }
  void trim(const TopicId& topic, Offset log_start) {
    coordinator_.apply(
        metadata::TrimLogs{.trims = {{.topic = topic, .partition = 0, .log_start = log_start}}});
  }
  bool exists(const storage::ObjectKey& key) {
    return run_task(context_, memory_.head(key)).has_value();
  }
  Offset log_start(const char* topic) {
    return coordinator_.image()->topic(topic)->partition(0)->view().log_start;
  }
  Result<std::size_t> delete_once() {
    deleter_.look();
    return run_task(context_, deleter_.run_once());
  }

  MovedClock clock_;
  boost::asio::io_context context_;
  metadata::MemoryCoordinator coordinator_{clock_, context_.get_executor()};
  storage::MemoryStore memory_{clock_};
  storage::FaultyStore store_{memory_, clock_};
  MetricsRegistry metrics_;
  ObjectDeleter deleter_{coordinator_, store_, clock_, minutes(1), metrics_};
  std::int64_t sequence_ = 0;
};

TEST_F(CompactionTest, AnObjectIsDeletedAGracePeriodAfterItsLastExtent) {
  storage::ObjectKey shared = commit({kKept, kTrimmed});
  storage::ObjectKey own = commit({kTrimmed});
  clock_.advance(minutes(10));
  trim(kTrimmed, 20);
  EXPECT_EQ(delete_once(), 0U);
  clock_.advance(seconds(59));
  EXPECT_EQ(delete_once(), 0U);
  EXPECT_TRUE(exists(own));
  clock_.advance(seconds(1));
  EXPECT_EQ(delete_once(), 1U);
  EXPECT_FALSE(exists(own));
  // Another topic still lies in it.
  EXPECT_TRUE(exists(shared));
  // Forgotten: not deleted again.
  EXPECT_EQ(delete_once(), 0U);
  EXPECT_EQ(store_.calls(storage::StoreOperation::kRemove), 1U);
}

// Before, a clock that was ahead once kept all objects for as long as it had been ahead, and one
// that is ahead now deleted them at once.
TEST_F(CompactionTest, AWallClockThatIsSetWrongMovesNoGracePeriod) {
  constexpr TimestampMs kYears = 315'360'000'000;
  clock_.move_wall(kYears);
  const storage::ObjectKey ahead = commit({kTrimmed});
  trim(kTrimmed, 10);
  EXPECT_EQ(delete_once(), 0U);
  clock_.move_wall(-kYears);
  clock_.advance(minutes(1));
  EXPECT_EQ(delete_once(), 1U);
  EXPECT_FALSE(exists(ahead));
  clock_.advance(seconds(2));  // looks that follow one another closely count as one
  const storage::ObjectKey right = commit({kTrimmed});
  trim(kTrimmed, 20);
  EXPECT_EQ(delete_once(), 0U);
  clock_.move_wall(kYears);
  EXPECT_EQ(delete_once(), 0U);
  EXPECT_TRUE(exists(right));
  clock_.move_wall(-2 * kYears);
  clock_.advance(minutes(1));
  EXPECT_EQ(delete_once(), 1U);
}

// What is deletable already when a broker starts may have become so just before.
TEST_F(CompactionTest, TheGracePeriodBeginsWithTheFirstLook) {
  commit({kTrimmed});
  trim(kTrimmed, 10);
  clock_.advance(minutes(10));
  EXPECT_EQ(delete_once(), 0U);
  clock_.advance(seconds(30));
  commit({kTrimmed});
  trim(kTrimmed, 20);
  EXPECT_EQ(delete_once(), 0U);
  clock_.advance(seconds(30));
  EXPECT_EQ(delete_once(), 1U);
  clock_.advance(seconds(30));
  EXPECT_EQ(delete_once(), 1U);
}

TEST_F(CompactionTest, AnObjectThatCouldNotBeDeletedIsNotForgotten) {
  storage::ObjectKey key = commit({kTrimmed});
  trim(kTrimmed, 10);
  EXPECT_EQ(delete_once(), 0U);
  clock_.advance(minutes(1));
  store_.fail_call(1, {ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(delete_once().error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(exists(key));
  // Nor is one whose bytes are gone, but whose forgetting failed.
  store_.set_plan([this](const storage::StoreCall&) {
    coordinator_.set_failure(Error{ErrorCode::kUnavailable, "the log is down"});
    return storage::StoreFault{};
  });
  EXPECT_FALSE(delete_once());
  store_.set_plan({});
  coordinator_.set_failure(std::nullopt);
  EXPECT_EQ(delete_once(), 1U);
  EXPECT_FALSE(exists(key));
  EXPECT_EQ(delete_once(), 0U);
}

// It may be about to be put back to a copy that still has extents in the object.
TEST_F(CompactionTest, NothingIsDeletedWhileTheLogDoesNotAnswer) {
  storage::ObjectKey key = commit({kTrimmed});
  trim(kTrimmed, 10);
  EXPECT_EQ(delete_once(), 0U);
  clock_.advance(minutes(1));
  coordinator_.set_failure(Error{ErrorCode::kUnavailable, "the log is down"});
  EXPECT_EQ(delete_once().error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(exists(key));
  EXPECT_EQ(store_.calls(storage::StoreOperation::kRemove), 0U);
}

// A broker that never deletes, since another does.
TEST_F(CompactionTest, WhatWasSeenLongAgoIsForgotten) {
  for (int i = 0; i < 1000; ++i) {
    deleter_.look();
    clock_.advance(std::chrono::seconds(1));
  }
  EXPECT_LE(deleter_.remembered(), 66U);
  EXPECT_GE(deleter_.remembered(), 50U);
}

TEST_F(CompactionTest, APassOfRetentionMovesTheLogStartsOfTopicsWithARule) {
  commit({kKept, kTrimmed});
  clock_.advance(minutes(10));
  commit({kKept, kTrimmed});
  Retention retention(
      coordinator_,
      [](const std::shared_ptr<const metadata::TopicImage>& topic) -> std::optional<RetentionRule> {
        if (topic->id == kKept) return std::nullopt;
        return RetentionRule{.ms = 60'000};
      },
      clock_, metrics_);
  EXPECT_EQ(run_task(context_, retention.run_once()), 1U);
  EXPECT_EQ(log_start("trimmed"), 10);
  EXPECT_EQ(log_start("kept"), 0);
  // Nothing to move, nothing appended.
  std::size_t submitted = coordinator_.submitted();
  EXPECT_EQ(run_task(context_, retention.run_once()), 0U);
  EXPECT_EQ(coordinator_.submitted(), submitted);
}

}  // namespace
}  // namespace weir::compaction

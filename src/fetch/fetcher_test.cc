#include "fetch/fetcher_fixture.h"

namespace weir::fetch {
namespace {

TEST_F(FetcherTest, ReturnsTheWholeBatchThatHoldsTheOffset) {
  commit(0, {batch_of({1, 2, 3}), batch_of({4, 5, 6})});
  EXPECT_EQ(bases(fetch({at(0)})[0]), (std::vector<Offset>{0, 3}));
  EXPECT_EQ(bases(fetch({at(1)})[0]), (std::vector<Offset>{0, 3}));
  EXPECT_EQ(bases(fetch({at(5)})[0]), (std::vector<Offset>{3}));
  auto end = fetch({at(6)});
  EXPECT_EQ(end[0].error, KafkaError::kNone);
  EXPECT_TRUE(end[0].records.empty());
  EXPECT_EQ(end[0].high_watermark, 6);
  EXPECT_EQ(end[0].log_start_offset, 0);
}

// Clients that do not take them would keep many objects in memory that nobody counts.
TEST_F(FetcherTest, SmallAnswersDoNotKeepTheirObjects) {
  commit(0, {batch_of({1}, 500)});
  const Slice object = reader_.objects.begin()->second.flatten();
  const Chain records = fetch({at(0)})[0].records;
  ASSERT_FALSE(records.empty());
  for (const Slice& slice : records.slices()) EXPECT_NE(slice.owner(), object.owner());
}

TEST_F(FetcherTest, CrossesObjectsInOffsetOrder) {
  commit(0, {batch_of({1, 2})});
  commit(1, {batch_of({1})});
  commit(0, {batch_of({3})});
  EXPECT_EQ(bases(fetch({at(0)})[0]), (std::vector<Offset>{0, 2}));
}

TEST_F(FetcherTest, TheFirstPartitionWithRecordsIgnoresTheLimits) {
  commit(1, {batch_of({1}, 500), batch_of({2}, 500)});
  commit(2, {batch_of({1}, 500)});
  auto got = fetch({at(0, 0, 1), at(0, 1, 1), at(0, 2, 1)}, {.max_bytes = 1});
  EXPECT_TRUE(got[0].records.empty());
  EXPECT_EQ(bases(got[1]), std::vector<Offset>{0});
  EXPECT_TRUE(got[2].records.empty());
  // Nor is it read.
  EXPECT_EQ(reader_.reads, 1);
}

TEST_F(FetcherTest, OnlyTheFirstIgnoresTheLimits) {
  commit(0, {batch_of({1}, 100)});
  commit(1, {batch_of({1}, 5000)});
  auto got = fetch({at(0, 0), at(0, 1)}, {.max_bytes = 1000});
  EXPECT_EQ(bases(got[0]), std::vector<Offset>{0});
  EXPECT_TRUE(got[1].records.empty());
}

TEST_F(FetcherTest, WhatLiesBeforeTheOffsetInItsObjectDoesNotCount) {
  Slice batch = batch_of({1}, 500);
  commit(0, {batch, batch, batch});
  commit(0, {batch});
  auto limit = static_cast<std::int32_t>(batch.size() * 2 + 10);
  EXPECT_EQ(bases(fetch({at(2, 0, limit)})[0]), (std::vector<Offset>{2, 3}));
}

TEST_F(FetcherTest, LaterPartitionsShareWhatIsLeft) {
  Slice batch = batch_of({1}, 500);
  for (PartitionIndex partition : {0, 1, 2}) commit(partition, {batch, batch});
  auto limit = batch.size() * 3 + 10;
  auto got = fetch({at(0, 0), at(0, 1), at(0, 2)}, {.max_bytes = limit});
  EXPECT_EQ(bases(got[0]).size(), 2U);
  EXPECT_EQ(bases(got[1]).size(), 1U);
  EXPECT_TRUE(got[2].records.empty());
}

TEST_F(FetcherTest, APartitionsLimitCutsAtABatch) {
  Slice batch = batch_of({1}, 500);
  commit(0, {batch, batch, batch});
  auto limit = static_cast<std::int32_t>(batch.size() * 2 + 10);
  EXPECT_EQ(bases(fetch({at(0, 0, limit)})[0]).size(), 2U);
}

TEST_F(FetcherTest, AnswersErrorsOfPartitionsOneByOne) {
  commit(0, {batch_of({1})});
  PartitionFetch no_topic{.topic = "nothing", .partition = 0, .max_bytes = 100};
  PartitionFetch no_id{.by_id = true, .topic_id = {9, 9}, .partition = 0, .max_bytes = 100};
  PartitionFetch old_epoch = at(0);
  old_epoch.current_leader_epoch = 3;
  auto got = fetch({no_topic, no_id, at(0, 99), at(7), at(-1), old_epoch, at(0)},
                   {.max_wait = milliseconds(500), .min_bytes = 1000, .max_bytes = 1 << 20});
  EXPECT_EQ(got[0].error, KafkaError::kUnknownTopicOrPartition);
  EXPECT_EQ(got[1].error, KafkaError::kUnknownTopicId);
  EXPECT_EQ(got[2].error, KafkaError::kUnknownTopicOrPartition);
  EXPECT_EQ(got[3].error, KafkaError::kOffsetOutOfRange);
  EXPECT_EQ(got[3].high_watermark, kNoOffset);
  EXPECT_EQ(got[4].error, KafkaError::kOffsetOutOfRange);
  EXPECT_EQ(got[5].error, KafkaError::kUnknownLeaderEpoch);
  EXPECT_EQ(bases(got[6]), std::vector<Offset>{0});
}

TEST_F(FetcherTest, ALookHasNoRecordsAndDoesNotWait) {
  commit(0, {batch_of({1, 2, 3})});
  FetchOptions look{
      .look_only = true, .max_wait = milliseconds(500), .min_bytes = 1, .max_bytes = 1 << 20};
  auto got = fetch({at(1), at(0, 1), at(9)}, look);
  EXPECT_EQ(got[0].error, KafkaError::kNone);
  EXPECT_EQ(got[0].high_watermark, 3);
  EXPECT_EQ(got[0].records.size(), 0U);
  EXPECT_EQ(got[2].error, KafkaError::kOffsetOutOfRange);
  EXPECT_EQ(reader_.reads, 0);
  auto waiting = start({at(0, 1)}, look);
  EXPECT_TRUE(waiting->has_value());
}

// KIP-595: who says which epoch it read last learns where its log differs, at once.
TEST_F(FetcherTest, AReaderPastTheEndOfItsEpochIsToldWhereItEnds) {
  commit(0, {batch_of({1, 2})});
  FetchOptions patient{.max_wait = milliseconds(500), .min_bytes = 1000, .max_bytes = 1 << 20};
  PartitionFetch ahead = at(5);
  ahead.last_fetched_epoch = 0;
  PartitionFetch unheard_of = at(1);
  unheard_of.last_fetched_epoch = 4;
  auto got = fetch({ahead, unheard_of}, patient);
  EXPECT_EQ(got[0].error, KafkaError::kNone);
  EXPECT_EQ(got[0].diverging, (EpochEnd{.epoch = 0, .offset = 2}));
  EXPECT_TRUE(got[0].records.empty());
  EXPECT_EQ(got[1].error, KafkaError::kOffsetOutOfRange);
  PartitionFetch in_step = at(1);
  in_step.last_fetched_epoch = 0;
  EXPECT_EQ(bases(fetch({in_step})[0]), std::vector<Offset>{0});
  auto waits = start({ahead}, patient);
  EXPECT_TRUE(waits->has_value());
}

TEST_F(FetcherTest, ATopicThatWasCreatedAnewIsNotTheOneThatWasMeant) {
  PartitionFetch old = at(0);
  old.topic_id = {9, 9};
  old.known_as = "t";
  EXPECT_EQ(fetch({old})[0].error, KafkaError::kInconsistentTopicId);
  old.known_as = "gone";
  EXPECT_EQ(fetch({old})[0].error, KafkaError::kUnknownTopicId);
}

TEST_F(FetcherTest, OutOfRangeIsNotSaidWithoutTheLog) {
  coordinator_.set_failure(Error{ErrorCode::kUnavailable, "down"});
  EXPECT_EQ(fetch({at(7)})[0].error, KafkaError::kOffsetNotAvailable);
  coordinator_.set_failure(std::nullopt);
}

TEST_F(FetcherTest, ReadsBelowTheLogStartAreOutOfRange) {
  commit(0, {batch_of({1, 2, 3})});
  commit(0, {batch_of({4})});
  coordinator_.apply(
      metadata::TrimLogs{.trims = {{.topic = kTopic, .partition = 0, .log_start = 2}}});
  EXPECT_EQ(fetch({at(1)})[0].error, KafkaError::kOffsetOutOfRange);
  // The log start lies within a batch, which is served whole.
  auto got = fetch({at(2)});
  EXPECT_EQ(bases(got[0]), (std::vector<Offset>{0, 3}));
  EXPECT_EQ(got[0].log_start_offset, 2);
}

TEST_F(FetcherTest, WaitsForEnoughBytesAndIsWokenByCommits) {
  auto waiting = start({at(0), at(0, 1)},
                       {.max_wait = milliseconds(500), .min_bytes = 1, .max_bytes = 1 << 20});
  EXPECT_FALSE(waiting->has_value());
  EXPECT_GT(waiters_.waiting(), 0U);
  commit(2, {batch_of({1})});  // not a partition it asked for
  poll();
  EXPECT_FALSE(waiting->has_value());
  commit(1, {batch_of({1})});
  poll();
  ASSERT_TRUE(waiting->has_value());
  EXPECT_EQ(bases((**waiting)[1]), std::vector<Offset>{0});
  EXPECT_EQ(waiters_.waiting(), 0U);
}

TEST_F(FetcherTest, TheEndOfOneWaitLeavesTheOthersWaiting) {
  const FetchOptions soon{.max_wait = milliseconds(5), .min_bytes = 1, .max_bytes = 1 << 20};
  const FetchOptions later{.max_wait = milliseconds(500), .min_bytes = 1, .max_bytes = 1 << 20};
  auto before = start({at(0)}, later);
  auto ends = start({at(0)}, soon);
  auto after = start({at(0)}, later);
  clock_.advance(milliseconds(5));
  poll();
  EXPECT_TRUE(ends->has_value());
  EXPECT_FALSE(before->has_value() || after->has_value());
  commit(0, {batch_of({1})});
  poll();
  EXPECT_TRUE(before->has_value() && after->has_value());
}

// Runs something at the nth look at the time.
class HookedClock final : public Clock {
 public:
  explicit HookedClock(Clock& clock) : clock_(clock) {}
  [[nodiscard]] TimestampMs wall_ms() const override { return clock_.wall_ms(); }
  [[nodiscard]] MonoTime now() const override {
    if (--looks == 0) hook();
    return clock_.now();
  }
  std::shared_ptr<Timer> call_at(MonoTime when, Executor executor,
                                 std::move_only_function<void()> callback) override {
    return clock_.call_at(when, std::move(executor), std::move(callback));
  }

  mutable int looks = 0;
  std::function<void()> hook;

 private:
  Clock& clock_;
};

// Between the look that found nothing and the place among those that are woken.
TEST_F(FetcherTest, ACommitJustBeforeTheWaitIsSeen) {
  HookedClock clock(clock_);
  Fetcher fetcher(coordinator_, reader_, waiters_, memory_, clock, metrics_);
  clock.looks = 2;  // the first is for the deadline
  clock.hook = [&] { commit(0, {batch_of({1})}); };
  std::optional<std::vector<PartitionData>> got;
  boost::asio::co_spawn(
      context_,
      fetcher.fetch({at(0)}, {.max_wait = milliseconds(500), .min_bytes = 1, .max_bytes = 1 << 20}),
      [&](const std::exception_ptr&, std::vector<PartitionData> data) { got = std::move(data); });
  poll();
  EXPECT_LT(clock.looks, 1);
  bool is_answered = got.has_value();
  clock_.advance(milliseconds(500));
  poll();
  EXPECT_TRUE(is_answered);
}

TEST_F(FetcherTest, GoesOnWaitingWhileThereIsTooLittle) {
  auto waiting =
      start({at(0)}, {.max_wait = milliseconds(500), .min_bytes = 1000, .max_bytes = 1 << 20});
  commit(0, {batch_of({1}, 600)});
  poll();
  EXPECT_FALSE(waiting->has_value());
  commit(0, {batch_of({1}, 600)});
  poll();
  ASSERT_TRUE(waiting->has_value());
  EXPECT_EQ(bases((**waiting)[0]).size(), 2U);
}

TEST_F(FetcherTest, AWaitOutlivesTheLoadOfASnapshot) {
  commit(0, {batch_of({1})});
  auto waiting =
      start({at(1)}, {.max_wait = milliseconds(500), .min_bytes = 1, .max_bytes = 1 << 20});
  coordinator_.reload();
  poll();
  EXPECT_FALSE(waiting->has_value());
  commit(0, {batch_of({2})});
  poll();
  ASSERT_TRUE(waiting->has_value());
  EXPECT_EQ(bases((**waiting)[0]), std::vector<Offset>{1});
}

TEST_F(FetcherTest, AnswersEmptyAtTheDeadline) {
  auto waiting =
      start({at(0)}, {.max_wait = milliseconds(500), .min_bytes = 1, .max_bytes = 1 << 20});
  clock_.advance(milliseconds(499));
  poll();
  EXPECT_FALSE(waiting->has_value());
  clock_.advance(milliseconds(1));
  poll();
  ASSERT_TRUE(waiting->has_value());
  EXPECT_TRUE((**waiting)[0].records.empty());
  EXPECT_EQ((**waiting)[0].error, KafkaError::kNone);
}

TEST_F(FetcherTest, AWaitEndsWhenItIsHurried) {
  bool hurry = false;
  auto answer =
      start({at(0)},
            {.max_wait = milliseconds(5000), .min_bytes = 1, .max_bytes = 1000, .hurry = [&hurry] {
               return hurry;
             }});
  clock_.advance(milliseconds(1000));
  poll();
  EXPECT_FALSE(*answer);
  hurry = true;
  clock_.advance(milliseconds(100));
  poll();
  ASSERT_TRUE(*answer);
  EXPECT_TRUE((**answer)[0].records.empty());
  EXPECT_EQ(waiters_.waiting(), 0U);
}

TEST_F(FetcherTest, NobodyWaitsForAClosedConnection) {
  std::stop_source closed;
  auto waiting = start({at(0)}, {.max_wait = std::chrono::hours(600),
                                 .min_bytes = 1,
                                 .max_bytes = 1 << 20,
                                 .closed = closed.get_token()});
  EXPECT_FALSE(waiting->has_value());
  closed.request_stop();
  poll();
  EXPECT_TRUE(waiting->has_value());
  EXPECT_EQ(waiters_.waiting(), 0U);
}

TEST_F(FetcherTest, ADeletedTopicEndsTheWait) {
  auto waiting =
      start({at(0)}, {.max_wait = milliseconds(500), .min_bytes = 1, .max_bytes = 1 << 20});
  coordinator_.apply(metadata::DeleteTopics{.topics = {kTopic}});
  poll();
  ASSERT_TRUE(waiting->has_value());
  EXPECT_EQ((**waiting)[0].error, KafkaError::kUnknownTopicId);
}

TEST_F(FetcherTest, DamageIsAnErrorOfItsPartitionOnly) {
  reader_.damaged.insert(commit(0, {batch_of({1})}));
  reader_.missing.insert(commit(1, {batch_of({1})}));
  commit(2, {batch_of({1})});
  auto got = fetch({at(0), at(0, 1), at(0, 2)});
  EXPECT_EQ(got[0].error, KafkaError::kCorruptMessage);
  EXPECT_EQ(got[1].error, KafkaError::kKafkaStorageError);
  EXPECT_EQ(bases(got[2]), std::vector<Offset>{0});
  // The damage may have come with the read: the next one must not get the same bytes.
  EXPECT_EQ(reader_.forgotten, reader_.damaged);
}

TEST_F(FetcherTest, WhatLiesBeforeTheDamageIsServed) {
  commit(0, {batch_of({1})});
  reader_.damaged.insert(commit(0, {batch_of({2})}));
  auto got = fetch({at(0)});
  EXPECT_EQ(reader_.forgotten, reader_.damaged);
  EXPECT_EQ(got[0].error, KafkaError::kNone);
  EXPECT_EQ(bases(got[0]), std::vector<Offset>{0});
  EXPECT_EQ(fetch({at(1)})[0].error, KafkaError::kCorruptMessage);
}

// What is served would have offsets of others.
TEST_F(FetcherTest, DamageInABatchBeforeTheOffsetIsFound) {
  const std::int64_t object = commit(0, {batch_of({1, 2}), batch_of({3, 4})});
  const Chain whole = reader_.objects[object];
  const Slice bytes = whole.flatten();
  std::vector<std::byte> copy(bytes.bytes().begin(), bytes.bytes().end());
  const std::size_t last_offset_delta = 23;
  ASSERT_EQ(copy[last_offset_delta + 3], std::byte{1});
  copy[last_offset_delta + 3] = std::byte{0};
  reader_.objects[object] = Chain(Slice::of(std::move(copy)));
  auto got = fetch({at(2)});
  EXPECT_EQ(got[0].error, KafkaError::kCorruptMessage);
  EXPECT_EQ(bases(got[0]), std::vector<Offset>{});
  EXPECT_EQ(reader_.forgotten, std::set<std::int64_t>{object});
  reader_.objects[object] = whole;
  EXPECT_EQ(bases(fetch({at(2)})[0]), std::vector<Offset>{2});
}

TEST_F(FetcherTest, AnExtentWhoseBatchesDoNotAddUpIsCorrupt) {
  std::int64_t object = commit(0, {batch_of({1, 2, 3})});
  reader_.objects[object] = Chain(batch_of({1, 2}));
  EXPECT_EQ(bases(fetch({at(0)})[0]), std::vector<Offset>{0});
  EXPECT_EQ(fetch({at(2)})[0].error, KafkaError::kCorruptMessage);
}

// A client that waits 30 s must not wait for 3000 small objects of a slow store.
TEST_F(FetcherTest, ALongFetchIsAnsweredInParts) {
  for (int i = 0; i < 30; ++i) commit(i < 20 ? 0 : 1, {batch_of({1})});
  reader_.clock = &clock_;
  reader_.read_time = milliseconds(180);
  auto answers = fetch({at(0), at(0, 1), at(0, 2)});
  // What was begun within a second, of each partition; no error where there was no time.
  EXPECT_EQ(bases(answers[0]), (std::vector<Offset>{0, 1, 2}));
  EXPECT_EQ(bases(answers[1]), (std::vector<Offset>{0, 1, 2}));
  reader_.read_time = milliseconds(1100);
  answers = fetch({at(3), at(3, 1)});
  EXPECT_EQ(bases(answers[0]), (std::vector<Offset>{3}));
  EXPECT_EQ(answers[1].error, KafkaError::kNone);
  EXPECT_TRUE(answers[1].records.empty());
  // One extent is read however long it takes.
  reader_.read_time = std::chrono::hours(1);
  EXPECT_EQ(bases(fetch({at(7)})[0]), (std::vector<Offset>{7}));
}

TEST_F(FetcherTest, LogAppendTimeIsStampedOnReading) {
  log_append_time_ = true;
  commit(0, {batch_of({1, 2, 3})});
  auto got = fetch({at(0)});
  Slice all = got[0].records.flatten();
  kafka::RecordBatchView batch(all.bytes());
  EXPECT_TRUE(batch.is_log_append_time());
  EXPECT_TRUE(batch.crc_matches());
  EXPECT_EQ(batch.max_timestamp(), clock_.wall_ms());
}

}  // namespace
}  // namespace weir::fetch

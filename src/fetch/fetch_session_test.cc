#include "fetch/fetch_session.h"

#include "runtime/test_loop.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::fetch {
namespace {

using kafka::KafkaError;
using std::chrono::seconds;

PartitionFetch fetch_of(int partition, Offset offset = 0) {
  return {.topic_id = {1, 1},
          .topic = "t",
          .partition = partition,
          .fetch_offset = offset,
          .max_bytes = 100};
}
SessionKey key_of(int partition) { return {{1, 1}, "t", partition}; }

std::shared_ptr<FetchSession> session_with(int partitions) {
  auto session = std::make_shared<FetchSession>(true);
  for (int i = 0; i < partitions; ++i) session->update(std::vector{fetch_of(i)}, {});
  return session;
}

PartitionData watermark(Offset high, Offset start = 0) {
  return {
      .high_watermark = high, .last_stable_offset = high, .log_start_offset = start, .records = {}};
}

std::vector<int> order(const FetchSession& session) {
  std::vector<int> out;
  for (const PartitionFetch& fetch : session.partitions()) out.push_back(fetch.partition);
  return out;
}

TEST(FetchSession, RemembersChangesAndForgets) {
  auto session = session_with(3);
  session->update(std::vector{fetch_of(1, 77)}, std::vector{key_of(0), key_of(9)});
  EXPECT_EQ(order(*session), (std::vector{1, 2}));
  EXPECT_EQ(session->partitions()[0].fetch_offset, 77);
}

TEST(FetchSession, AnswersOnlyWhatIsNew) {
  auto session = session_with(1);
  EXPECT_TRUE(session->must_answer(key_of(0), watermark(5)));
  EXPECT_FALSE(session->must_answer(key_of(0), watermark(5)));
  EXPECT_TRUE(session->must_answer(key_of(0), watermark(6)));
  EXPECT_TRUE(session->must_answer(key_of(0), watermark(6, 2)));
  PartitionData data = watermark(6, 2);
  data.records.append(Slice::copy_of("records"));
  EXPECT_TRUE(session->must_answer(key_of(0), data));
}

TEST(FetchSession, AfterAnErrorThePartitionIsNamedAgain) {
  auto session = session_with(1);
  EXPECT_TRUE(session->must_answer(key_of(0), watermark(5)));
  PartitionData failed = watermark(5);
  failed.error = KafkaError::kKafkaStorageError;
  EXPECT_TRUE(session->must_answer(key_of(0), failed));
  EXPECT_TRUE(session->must_answer(key_of(0), watermark(5)));
  EXPECT_FALSE(session->must_answer(key_of(0), watermark(5)));
}

TEST(FetchSession, ATopicKeepsTheNameThatItHadFirst) {
  FetchSession session(true);
  PartitionFetch fetch = fetch_of(0);
  fetch.known_as = "first";
  session.update(std::vector{fetch}, {});
  fetch.known_as = "";
  session.update(std::vector{fetch}, {});
  EXPECT_EQ(session.partitions()[0].known_as, "first");
}

TEST(FetchSession, PartitionsWithRecordsMoveToTheEnd) {
  auto session = session_with(3);
  PartitionData data = watermark(1);
  data.records.append(Slice::copy_of("records"));
  EXPECT_TRUE(session->must_answer(key_of(0), data));
  EXPECT_TRUE(session->must_answer(key_of(1), watermark(1)));
  EXPECT_EQ(order(*session), (std::vector{1, 2, 0}));
}

TEST(FetchSessionCache, ChecksIdEpochAndKindOfNames) {
  ManualClock clock;
  FetchSessionCache cache(2, {}, clock, Rng(1));
  SessionId id = cache.create(1, session_with(1));
  ASSERT_GT(id, 0);
  EXPECT_EQ(cache.acquire(id + 2, 1, true).error(), KafkaError::kFetchSessionIdNotFound);
  EXPECT_EQ(cache.acquire(id, 2, true).error(), KafkaError::kInvalidFetchSessionEpoch);
  EXPECT_EQ(cache.acquire(id, 1, false).error(), KafkaError::kFetchSessionTopicIdError);
  EXPECT_TRUE(cache.acquire(id, 1, true));
  EXPECT_EQ(cache.acquire(id, 1, true).error(), KafkaError::kInvalidFetchSessionEpoch);
  EXPECT_TRUE(cache.acquire(id, 2, true));
  cache.remove(id);
  EXPECT_EQ(cache.acquire(id, 3, true).error(), KafkaError::kFetchSessionIdNotFound);
}

TEST(FetchSessionCache, TheEpochWrapsToOne) {
  EXPECT_EQ(next_epoch(1), 2);
  EXPECT_EQ(next_epoch(std::numeric_limits<SessionEpoch>::max()), 1);
}

TEST(FetchSessionCache, AFullCacheGivesNoSessionUntilOneIsOldOrSmaller) {
  ManualClock clock;
  FetchSessionCache cache(1, {.slots = 2, .evict_after = seconds(120)}, clock, Rng(1));
  SessionId small = cache.create(0, session_with(1));
  SessionId large = cache.create(0, session_with(5));
  EXPECT_EQ(cache.create(0, session_with(9)), kNoSession);
  // Both stay in use past the time: only a larger session takes the place of the smaller one.
  clock.advance(seconds(121));
  ASSERT_TRUE(cache.acquire(small, 1, true));
  ASSERT_TRUE(cache.acquire(large, 1, true));
  EXPECT_EQ(cache.create(0, session_with(1)), kNoSession);
  EXPECT_NE(cache.create(0, session_with(2)), kNoSession);
  EXPECT_EQ(cache.acquire(small, 2, true).error(), KafkaError::kFetchSessionIdNotFound);
  EXPECT_EQ(cache.size(), 2U);
  // One that nobody used for long goes for any other.
  clock.advance(seconds(121));
  EXPECT_NE(cache.create(0, session_with(1)), kNoSession);
}

TEST(FetchSessionCache, ZeroSlotsMeanNoSessions) {
  ManualClock clock;
  FetchSessionCache cache(1, {.slots = 0}, clock, Rng(1));
  EXPECT_EQ(cache.create(0, session_with(1)), kNoSession);
}

TEST(FetchSessionCache, SessionsTogetherTakeLimitedMemory) {
  ManualClock clock;
  const ByteCount one = session_with(1)->bytes();
  EXPECT_GT(one, 200U);
  EXPECT_EQ(session_with(5)->bytes(), 5 * one);
  FetchSessionCache cache(1, {.slots = 100, .bytes_max = 10 * one}, clock, Rng(1));
  const SessionId first = cache.create(0, session_with(6));
  const SessionId second = cache.create(0, session_with(4));
  EXPECT_NE(second, kNoSession);
  EXPECT_EQ(cache.create(0, session_with(1)), kNoSession);
  // One that grows beyond the memory is forgotten, and its memory is free.
  auto grown = cache.acquire(second, 1, true).value();
  grown->update(std::vector{fetch_of(4)}, {});
  cache.recount(second);
  EXPECT_FALSE(cache.acquire(second, 2, true));
  EXPECT_NE(cache.create(0, session_with(4)), kNoSession);
  // One that shrinks makes room.
  auto shrunk = cache.acquire(first, 1, true).value();
  shrunk->update({}, std::vector{key_of(0), key_of(1)});
  cache.recount(first);
  EXPECT_NE(cache.create(0, session_with(2)), kNoSession);
  EXPECT_EQ(cache.create(0, session_with(1)), kNoSession);
  // So do those that nobody uses.
  clock.advance(seconds(121));
  EXPECT_NE(cache.create(0, session_with(1)), kNoSession);
}

}  // namespace
}  // namespace weir::fetch

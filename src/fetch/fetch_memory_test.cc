#include "fetch/fetcher_fixture.h"

namespace weir::fetch {
namespace {

// Consumers that do not take their answers must not take all memory, nor stop the others.
class FetchMemoryTest : public FetcherTest {
 protected:
  static constexpr std::int32_t kAll = 1 << 30;
  const FetchOptions generous_{.max_bytes = kAll};

  FetchMemoryTest() {
    for (int i = 0; i < 12; ++i) commit(0, {batch_of({i}, 100'000)});
    commit(1, {batch_of({1}, 100'000)});
  }
  std::vector<PartitionData> slow_;  // takes nearly all of the memory
};

TEST_F(FetchMemoryTest, AnAnswerHoldsWhatItTakesUntilItIsSent) {
  slow_ = fetch({at(0, 0, kAll)}, generous_);
  // There is more, but not more memory.
  EXPECT_EQ(bases(slow_[0]).size(), 10U);
  EXPECT_EQ(memory_.used(), slow_[0].records.size());
  Slice last = slow_[0].records.slices().front();
  slow_.clear();
  EXPECT_GT(memory_.used(), 1'000'000U);
  last = {};
  EXPECT_EQ(memory_.used(), 0U);
}

TEST_F(FetchMemoryTest, WhereAnswersTakeTheMemoryFetchesGetLessAtATime) {
  slow_ = fetch({at(4, 0, kAll), at(0, 1, kAll)}, generous_);
  EXPECT_EQ(bases(slow_[0]).size(), 8U);
  EXPECT_EQ(bases(slow_[1]).size(), 1U);
  // What is left is enough for a part of what the other asks for.
  auto other = fetch({at(0, 0, kAll), at(0, 1, kAll)}, generous_);
  EXPECT_EQ(bases(other[0]).size(), 1U);
  EXPECT_TRUE(other[1].records.empty());
  EXPECT_EQ(memory_.used(), 10 * other[0].records.size());
}

TEST_F(FetchMemoryTest, TheFirstBatchWaitsForMemory) {
  slow_ = fetch({at(0, 0, kAll)}, generous_);
  auto one = start({at(0, 0, kAll)}, generous_);
  auto two = start({at(3, 0, kAll)}, generous_);
  auto small = fetch({at(0, 2)}, generous_);
  EXPECT_EQ(small[0].error, KafkaError::kNone);
  EXPECT_FALSE(*one);
  EXPECT_FALSE(*two);
  EXPECT_TRUE(fetcher_.is_short_of_memory());
  slow_.clear();
  poll();
  ASSERT_TRUE(*one);
  ASSERT_TRUE(*two);
  EXPECT_EQ(bases((**one)[0]), (std::vector<Offset>{0}));
  EXPECT_EQ(bases((**two)[0]), (std::vector<Offset>{3}));
  EXPECT_FALSE(fetcher_.is_short_of_memory());
}

TEST_F(FetchMemoryTest, NobodyWaitsForMemoryForEver) {
  slow_ = fetch({at(0, 0, kAll)}, generous_);
  std::stop_source closed;
  auto one = start({at(0, 0, kAll)}, {.max_bytes = kAll, .closed = closed.get_token()});
  closed.request_stop();
  poll();
  ASSERT_TRUE(*one);
  auto two = start({at(0, 0, kAll)}, generous_);
  clock_.advance(std::chrono::seconds(19));
  poll();
  EXPECT_FALSE(*two);
  clock_.advance(std::chrono::seconds(1));
  poll();
  ASSERT_TRUE(*two);
  EXPECT_TRUE((**two)[0].records.empty());
  EXPECT_EQ((**two)[0].error, KafkaError::kNone);
  EXPECT_EQ((**two)[0].high_watermark, 12);
  auto three = start({at(0, 0, kAll)}, generous_);
  fetcher_.stop_waiting();
  poll();
  EXPECT_TRUE(*three);
  EXPECT_EQ(memory_.waiting(), 0U);
}

TEST_F(FetchMemoryTest, ABatchThatIsLargerThanExpectedWaitsWithoutMemory) {
  commit(2, {batch_of({1}, 3'000'000)});
  ByteBudget memory{4_MiB};
  Fetcher fetcher(coordinator_, reader_, waiters_, memory, clock_, metrics_);
  slow_ = run_task(context_, fetcher.fetch({at(0, 0, kAll)}, generous_));
  const ByteCount used = memory.used();
  EXPECT_EQ(used, slow_[0].records.size());
  std::optional<std::vector<PartitionData>> large;
  boost::asio::co_spawn(
      context_, fetcher.fetch({at(0, 2)}, generous_),
      [&](const std::exception_ptr&, std::vector<PartitionData> data) { large = std::move(data); });
  poll();
  EXPECT_FALSE(large);
  EXPECT_EQ(memory.used(), used);
  slow_.clear();
  poll();
  ASSERT_TRUE(large);
  EXPECT_EQ(bases((*large)[0]), (std::vector<Offset>{0}));
  EXPECT_EQ(memory.used(), (*large)[0].records.size());
}

}  // namespace
}  // namespace weir::fetch

#include "compaction/orphan_sweep.h"

#include "kafka/records/batch_builder.h"
#include "metadata/memory_coordinator.h"
#include "runtime/test_loop.h"
#include "storage/memory_store.h"
#include "storage/wal_object.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace weir::compaction {
namespace {

using kafka::KafkaError;
using std::chrono::hours;

constexpr TopicId kTopic{7, 7};

class OrphanSweepTest : public ::testing::Test {
 protected:
  OrphanSweepTest() {
    coordinator_.apply(metadata::CreateTopics{.topics = {{.name = "t", .id = kTopic}}});
    // Broker 2 registers, and later goes.
    coordinator_.apply_as(2, metadata::Heartbeat{});
    other_ = coordinator_.image()->brokers.at(2).epoch;
  }

  Uuid cluster() { return coordinator_.image()->cluster_id; }
  // As a broker with this epoch uploads it.
  storage::ObjectKey upload(BrokerEpoch epoch, std::int64_t sequence, Uuid of_cluster) {
    kafka::RecordBatchBuilder builder({});
    builder.append(1000, std::nullopt, as_bytes("value"));
    std::vector<storage::WalBatch> batches{{.partition = {kTopic, 0}, .bytes = *builder.build()}};
    storage::WalObject object = storage::build_wal_object(
        {.cluster = of_cluster, .broker_epoch = epoch, .sequence = sequence}, batches);
    size_ = object.body.size();
    auto key = storage::wal_object_key(epoch, sequence);
    EXPECT_TRUE(run_task(context_, store_.put(key, object.body, {})));
    return key;
  }
  void commit(BrokerId broker, BrokerEpoch epoch, std::int64_t sequence) {
    auto result = coordinator_.apply_as(
        broker, metadata::CommitObject{
                    .object = {.epoch = epoch, .sequence = sequence},
                    .object_size = static_cast<std::uint32_t>(size_),
                    .runs = {{.topic = kTopic, .partition = 0, .batch_count = 1}},
                    .batches = {{.length = 73, .last_offset_delta = 0, .max_timestamp = 1000}}});
    ASSERT_EQ(result.error, KafkaError::kNone);
  }
  void end_other() {
    ASSERT_EQ(coordinator_.apply(metadata::FenceBroker{.broker_id = 2, .epoch = other_}).error,
              KafkaError::kNone);
  }
  bool is_there(const storage::ObjectKey& key) {
    return run_task(context_, store_.head(key)).has_value();
  }
  std::size_t sweep(BrokerId self = 1) {
    OrphanSweep orphans(coordinator_, store_, clock_,
                        {.self = self, .cluster_id = cluster(), .grace = hours(24)}, metrics_);
    TaskGroup group;
    auto removed = run_task(context_, orphans.run_once(group));
    EXPECT_TRUE(removed);
    return removed.value_or(0);
  }

  ManualClock clock_;
  boost::asio::io_context context_;
  metadata::MemoryCoordinator coordinator_{clock_, context_.get_executor()};
  storage::MemoryStore store_{clock_};
  MetricsRegistry metrics_;
  BrokerEpoch other_ = -1;
  ByteCount size_ = 0;
};

TEST_F(OrphanSweepTest, WhatADeadBrokerDidNotCommitIsRemovedAfterTheGracePeriod) {
  auto committed = upload(other_, 1, cluster());
  commit(2, other_, 1);
  auto orphan = upload(other_, 2, cluster());
  end_other();
  clock_.advance(hours(23));
  EXPECT_EQ(sweep(), 0U);
  EXPECT_TRUE(is_there(orphan));
  clock_.advance(hours(2));
  EXPECT_EQ(sweep(), 1U);
  EXPECT_FALSE(is_there(orphan));
  EXPECT_TRUE(is_there(committed));
}

TEST_F(OrphanSweepTest, WhatALiveBrokerHasUploadedIsLeft) {
  auto other = upload(other_, 2, cluster());
  auto own = upload(coordinator_.broker_epoch(), 1, cluster());
  clock_.advance(hours(100));
  EXPECT_EQ(sweep(1) + sweep(2), 0U);
  EXPECT_TRUE(is_there(other));
  EXPECT_TRUE(is_there(own));
}

TEST_F(OrphanSweepTest, AnEpochThatIsNotKnownYetIsNotOver) {
  end_other();
  // Registered elsewhere, in an entry that was not read here yet.
  auto later = upload(coordinator_.applied() + 1, 1, cluster());
  clock_.advance(hours(100));
  EXPECT_EQ(sweep(), 0U);
  EXPECT_TRUE(is_there(later));
}

TEST_F(OrphanSweepTest, ObjectsOfAnotherClusterAndOtherThingsAreLeft) {
  end_other();
  auto foreign = upload(other_, 3, Uuid{9, 9});
  auto unreadable = storage::wal_object_key(other_, 4);
  auto short_one = storage::wal_object_key(other_, 5);
  Chain text(Slice::copy_of(std::string(200, 'x')));
  Chain few(Slice::copy_of("few bytes"));
  ASSERT_TRUE(run_task(context_, store_.put(unreadable, text, {})));
  ASSERT_TRUE(run_task(context_, store_.put(short_one, few, {})));
  ASSERT_TRUE(run_task(context_, store_.put("data/readme", few, {})));
  clock_.advance(hours(100));
  EXPECT_EQ(sweep(), 0U);
  for (const auto& key : {foreign, unreadable, short_one, storage::ObjectKey("data/readme")})
    EXPECT_TRUE(is_there(key)) << key;
}

TEST_F(OrphanSweepTest, OneBrokerOfTheClusterDoesIt) {
  coordinator_.apply_as(3, metadata::Heartbeat{});
  end_other();
  std::size_t swept = 0;
  for (BrokerId self : {1, 3}) {
    upload(other_, 100 + self, cluster());
    clock_.advance(hours(25));
    swept += sweep(self) > 0 ? 1 : 0;
  }
  EXPECT_EQ(swept, 1U);
}

TEST_F(OrphanSweepTest, NothingIsRemovedWithoutTheLog) {
  auto orphan = upload(other_, 2, cluster());
  end_other();
  clock_.advance(hours(25));
  coordinator_.set_failure(Error{ErrorCode::kUnavailable, "down"});
  OrphanSweep orphans(coordinator_, store_, clock_, {.self = 1, .cluster_id = cluster()}, metrics_);
  TaskGroup group;
  EXPECT_FALSE(run_task(context_, orphans.run_once(group)));
  EXPECT_TRUE(is_there(orphan));
}

}  // namespace
}  // namespace weir::compaction

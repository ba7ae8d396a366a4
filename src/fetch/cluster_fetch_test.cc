// Fetches of a broker that is not the one that committed: woken by the other's commits, and never
// answered wrongly because its state is behind.
#include "fetch/fetcher.h"
#include "kafka/records/batch_builder.h"
#include "kafka/records/record_batch.h"
#include "metadata/coordinator_harness.h"

namespace weir::fetch {
namespace {

using kafka::KafkaError;
using metadata::Cable;
using metadata::LogCoordinator;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TopicId kTopic{7, 7};

// All objects, of all brokers.
class SharedReader final : public ObjectReader {
 public:
  Task<Result<Chain>> read(metadata::Extent extent) override {
    Slice object = objects.at(extent.object);
    co_return Chain(object.sub(extent.byte_offset, extent.byte_length));
  }
  void forget(const metadata::Extent&) override {}
  std::map<metadata::ObjectId, Slice> objects;
};

class ClusterFetchTest : public metadata::CoordinatorHarness {
 protected:
  struct Node {
    explicit Node(metadata::MetadataLog& log) : cable(log) {}
    Cable cable;
    Waiters waiters{1};
    MetricsRegistry metrics;
    ByteBudget memory{16_MiB};
    std::unique_ptr<LogCoordinator> log;
    std::unique_ptr<Fetcher> fetcher;
  };

  ClusterFetchTest() {
    start(writer_, 1);
    start(reader_node_, 2);
    create("t", kTopic);
    EXPECT_TRUE(run(reader_node_.log->catch_up()));
  }
  ~ClusterFetchTest() override {
    log_.set_outage(std::nullopt);
    reader_node_.cable.hear();
    for (Node* node : {&writer_, &reader_node_}) {
      node->fetcher->stop_waiting();
      poll();
      run(node->log->stop());
    }
  }

  void start(Node& node, BrokerId id) {
    metadata::LogCoordinatorOptions options{.broker_id = id};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    // Alone with its own heartbeats nobody would learn of others.
    options.membership = {.session_timeout = std::chrono::hours(9),
                          .heartbeat_interval = std::chrono::hours(2)};
    node.log = std::make_unique<LogCoordinator>(
        node.cable, nullptr, clock_, Rng(static_cast<std::uint64_t>(id)), context_.get_executor(),
        context_.get_executor(), options);
    node.log->add_listener(node.waiters);
    node.fetcher = std::make_unique<Fetcher>(*node.log, reader_, node.waiters, node.memory, clock_,
                                             node.metrics);
    node.log->start();
    EXPECT_TRUE(run(node.log->wait_registered()));
  }
  void create(const std::string& name, TopicId id) {
    EXPECT_TRUE(run(writer_.log->submit(
        metadata::CreateTopics{.topics = {{.name = name, .id = id, .partitions = 2}}})));
  }
  // One record through broker 1.
  void commit(TopicId topic = kTopic) {
    kafka::RecordBatchBuilder builder({});
    builder.append(1000, std::nullopt, as_bytes("value"));
    Slice batch = *builder.build();
    metadata::ObjectId id{writer_.log->broker_epoch(), ++sequence_};
    reader_.objects[id] = batch;
    auto size = static_cast<std::uint32_t>(batch.size());
    metadata::CommitObject command{
        .object = id,
        .object_size = size,
        .runs = {{.topic = topic, .partition = 0, .batch_count = 1}},
        .batches = {{.length = size, .last_offset_delta = 0, .max_timestamp = 1000}}};
    auto result = run(writer_.log->submit(std::move(command)));
    ASSERT_TRUE(result);
    ASSERT_EQ(result->error, KafkaError::kNone);
  }
  // From here on broker 2 is behind: it hears of nothing.
  void fall_behind() {
    reader_node_.cable.deafen();
    commit();  // ends the wait that is under way
    poll();
    EXPECT_TRUE(run(reader_node_.log->catch_up()));
  }

  static PartitionFetch at(Offset offset) {
    return {.topic = "t", .partition = 0, .fetch_offset = offset, .max_bytes = 1 << 20};
  }
  PartitionData fetch(PartitionFetch partition, Duration wait = {}) {
    return std::move(finish(begin_fetch(std::move(partition), wait)).at(0));
  }
  Pending<std::vector<PartitionData>> begin_fetch(PartitionFetch partition, Duration wait) {
    std::vector<PartitionFetch> partitions{std::move(partition)};
    auto pending = begin(reader_node_.fetcher->fetch(
        std::move(partitions), {.max_wait = wait, .min_bytes = 1, .max_bytes = 1 << 20}));
    poll();
    return pending;
  }

  Node writer_{log_};
  Node reader_node_{log_};
  SharedReader reader_;
  std::int64_t sequence_ = 0;
};

TEST_F(ClusterFetchTest, ACommitOfAnotherBrokerWakesAWaitingFetch) {
  auto waiting = begin_fetch(at(0), seconds(60));
  run_for(seconds(5));
  EXPECT_FALSE(waiting.done());
  MonoTime before = clock_.now();
  commit();
  auto data = finish(waiting);
  EXPECT_LE(clock_.now() - before, milliseconds(5));
  EXPECT_EQ(data.at(0).error, KafkaError::kNone);
  EXPECT_EQ(data.at(0).high_watermark, 1);
  EXPECT_GT(data.at(0).records.size(), 0U);
}

TEST_F(ClusterFetchTest, AnOffsetThatIsNotKnownHereYetIsNotOutOfRange) {
  fall_behind();
  commit();
  commit();
  commit();
  ASSERT_EQ(reader_node_.log->image()->topic("t")->partition(0)->view().high_watermark, 1);
  PartitionData data = fetch(at(3));
  EXPECT_EQ(data.error, KafkaError::kNone);
  EXPECT_EQ(data.high_watermark, 4);
  EXPECT_GT(data.records.size(), 0U);
  EXPECT_EQ(fetch(at(9)).error, KafkaError::kOffsetOutOfRange);
}

TEST_F(ClusterFetchTest, WhatIsNotKnownHereYetDoesNotDiverge) {
  fall_behind();
  commit();
  commit();
  PartitionFetch partition = at(2);
  partition.last_fetched_epoch = 0;
  PartitionData data = fetch(partition);
  EXPECT_EQ(data.error, KafkaError::kNone);
  EXPECT_FALSE(data.diverging);
  EXPECT_GT(data.records.size(), 0U);
  partition.fetch_offset = 9;
  EXPECT_TRUE(fetch(partition).diverging);
}

TEST_F(ClusterFetchTest, ATopicThatAnotherBrokerJustMadeIsKnown) {
  fall_behind();
  create("new", {8, 8});
  commit({8, 8});
  ASSERT_EQ(reader_node_.log->image()->topic("new"), nullptr);
  PartitionFetch by_name = at(0);
  by_name.topic = "new";
  PartitionData data = fetch(by_name, seconds(1));
  EXPECT_EQ(data.error, KafkaError::kNone);
  EXPECT_GT(data.records.size(), 0U);

  create("newer", {9, 9});
  PartitionFetch by_id = at(0);
  by_id.by_id = true;
  by_id.topic_id = {9, 9};
  EXPECT_EQ(fetch(by_id).error, KafkaError::kNone);
  by_id.topic_id = {1, 1};
  EXPECT_EQ(fetch(by_id).error, KafkaError::kUnknownTopicId);
}

TEST_F(ClusterFetchTest, PartitionsThatWereAddedAreKnown) {
  fall_behind();
  ASSERT_TRUE(run(writer_.log->submit(metadata::CreatePartitions{.topic = kTopic, .count = 5})));
  PartitionFetch added = at(0);
  added.partition = 4;
  EXPECT_EQ(fetch(added).error, KafkaError::kNone);
  added.partition = 5;
  EXPECT_EQ(fetch(added).error, KafkaError::kUnknownTopicOrPartition);
}

TEST_F(ClusterFetchTest, AClientMayKnowOfALaterEpoch) {
  fall_behind();
  LeaderEpoch known = reader_node_.log->image()->membership;
  Node third(log_);
  start(third, 3);
  PartitionFetch partition = at(0);
  partition.current_leader_epoch = known + 1;
  EXPECT_EQ(fetch(partition).error, KafkaError::kNone);
  EXPECT_EQ(reader_node_.log->image()->membership, known + 1);
  // An earlier one is no reason to refuse anything.
  partition.current_leader_epoch = 0;
  EXPECT_EQ(fetch(partition).error, KafkaError::kNone);
  partition.current_leader_epoch = known + 2;
  EXPECT_EQ(fetch(partition).error, KafkaError::kUnknownLeaderEpoch);
  run(third.log->stop());
}

TEST_F(ClusterFetchTest, WithoutTheLogWhatIsDoubtfulIsNotSaid) {
  fall_behind();
  log_.set_outage(Error{ErrorCode::kUnavailable, "cable cut"});
  EXPECT_EQ(fetch(at(3)).error, KafkaError::kOffsetNotAvailable);
  PartitionFetch unknown = at(0);
  unknown.topic = "new";
  EXPECT_EQ(fetch(unknown).error, KafkaError::kLeaderNotAvailable);
  PartitionFetch beyond = at(3);
  beyond.last_fetched_epoch = 0;
  EXPECT_EQ(fetch(beyond).error, KafkaError::kOffsetNotAvailable);
  // What is there is served.
  PartitionFetch later_epoch = at(0);
  later_epoch.current_leader_epoch = 99;
  PartitionData data = fetch(later_epoch);
  EXPECT_EQ(data.error, KafkaError::kNone);
  EXPECT_GT(data.records.size(), 0U);
}

}  // namespace
}  // namespace weir::fetch

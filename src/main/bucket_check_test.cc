#include "main/bucket_check.h"

#include "kafka/records/batch_builder.h"
#include "metadata/coordinator_harness.h"
#include "metadata/log_coordinator.h"
#include "storage/memory_store.h"
#include "storage/wal_object.h"

namespace weir {
namespace {

constexpr TopicId kTopic{7, 7};

// A broker's log and store: each object has a batch of two records for each partition of a topic
// of two.
class BucketCheckTest : public metadata::CoordinatorHarness {
 protected:
  BucketCheckTest() {
    metadata::LogCoordinatorOptions options{.broker_id = 1};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    coordinator_ = std::make_unique<metadata::LogCoordinator>(
        log_, nullptr, clock_, Rng(1), context_.get_executor(), context_.get_executor(),
        std::move(options));
    coordinator_->start();
    EXPECT_TRUE(run(coordinator_->wait_registered()));
    submit(metadata::CreateTopics{.topics = {{.name = "t", .id = kTopic, .partitions = 2}}});
  }
  ~BucketCheckTest() override { run(coordinator_->stop()); }

  void submit(metadata::Command command) {
    auto result = run(coordinator_->submit(std::move(command)));
    ASSERT_TRUE(result) << result.error().to_string();
    ASSERT_EQ(result->error, kafka::KafkaError::kNone);
  }
  static Slice batch() {
    kafka::RecordBatchBuilder builder({});
    for (int i = 0; i < 2; ++i) builder.append(1, std::nullopt, as_bytes("a value of a record"));
    return *builder.build();
  }
  std::string key_of(std::int64_t sequence) const {
    return storage::wal_object_key(coordinator_->broker_epoch(), sequence);
  }
  void put(std::int64_t sequence, const Uuid& cluster) {
    const Slice bytes = batch();
    const auto object = storage::build_wal_object(
        {.cluster = cluster, .broker_epoch = coordinator_->broker_epoch(), .sequence = sequence},
        std::vector<storage::WalBatch>{{.partition = {kTopic, 0}, .bytes = bytes},
                                       {.partition = {kTopic, 1}, .bytes = bytes}});
    ASSERT_TRUE(run(store_.put(key_of(sequence), object.body, {})));
  }
  void commit(std::int64_t sequence) {
    const auto length = static_cast<std::uint32_t>(batch().size());
    metadata::CommitObject command{
        .object = {.epoch = coordinator_->broker_epoch(), .sequence = sequence},
        .object_size = static_cast<std::uint32_t>(run(store_.head(key_of(sequence))).value().size)};
    for (PartitionIndex partition : {0, 1}) {
      command.runs.push_back({.topic = kTopic, .partition = partition, .batch_count = 1});
      command.batches.push_back({.length = length, .last_offset_delta = 1, .max_timestamp = 1});
    }
    submit(command);
  }
  void change(std::int64_t sequence, const std::function<void(std::vector<std::byte>&)>& change) {
    const Slice whole = run(store_.get(key_of(sequence))).value();
    std::vector<std::byte> bytes(whole.bytes().begin(), whole.bytes().end());
    change(bytes);
    ASSERT_TRUE(run(store_.put(key_of(sequence), Chain(Slice::of(std::move(bytes))), {})));
  }
  Task<Result<metadata::State>> state() {
    metadata::State state;
    auto entries = co_await log_.read(0, 1_GiB);
    for (const metadata::LogEntry& entry : *entries) WEIR_CO_CHECK(state.apply(entry));
    ++states_;
    if (states_ == 1 && before_second_) before_second_();
    co_return state;
  }
  Uuid cluster() { return run(state()).value().tables().cluster_id; }

  BucketCounts check(bool reads_objects = true) {
    states_ = 0;
    damage_.clear();
    BucketCheck check(
        store_, [this] { return state(); }, context_.get_executor(), reads_objects,
        [this](const std::string& line) { damage_.push_back(line); });
    auto counts = run(check.run());
    EXPECT_TRUE(counts) << counts.error().to_string();
    return counts.value_or(BucketCounts());
  }

  storage::MemoryStore store_{clock_};
  std::unique_ptr<metadata::LogCoordinator> coordinator_;
  std::vector<std::string> damage_;
  int states_ = 0;
  std::function<void()> before_second_;
};

TEST_F(BucketCheckTest, WhatIsWholeIsCounted) {
  for (std::int64_t i = 1; i <= 20; ++i) {
    put(i, cluster());
    if (i <= 18) commit(i);
  }
  const BucketCounts counts = check();
  EXPECT_EQ(damage_, std::vector<std::string>());
  EXPECT_EQ(counts.objects, 18U);
  EXPECT_EQ(counts.extents, 36U);
  EXPECT_EQ(counts.orphans, 2U);
  EXPECT_EQ(counts.orphan_bytes, counts.bytes / 9);
  EXPECT_EQ(counts.damaged, 0U);
  submit(metadata::DeleteTopics{.topics = {kTopic}});
  EXPECT_EQ(check().unneeded, 18U);
}

TEST_F(BucketCheckTest, WhatIsDamagedIsNamedWithItsRecords) {
  for (std::int64_t i = 1; i <= 6; ++i) {
    put(i, i == 5 ? Uuid{9, 9} : cluster());
    commit(i);
  }
  ASSERT_TRUE(run(store_.remove({key_of(1)})));
  change(2, [](auto& bytes) { bytes.pop_back(); });
  // A record's byte; a byte of the index.
  change(3, [](auto& bytes) { bytes[batch().size() - 2] ^= std::byte{1}; });
  change(4, [](auto& bytes) { bytes[2 * batch().size() + 1] ^= std::byte{1}; });
  EXPECT_EQ(check().damaged, 5U);
  ASSERT_EQ(damage_.size(), 5U);
  EXPECT_EQ(damage_[0], key_of(1) + ": is missing (t-0 offsets 0 to 1, t-1 offsets 0 to 1)");
  EXPECT_TRUE(damage_[1].starts_with(key_of(2) + ": has ")) << damage_[1];
  EXPECT_TRUE(damage_[1].ends_with("(t-0 offsets 2 to 3, t-1 offsets 2 to 3)")) << damage_[1];
  EXPECT_TRUE(damage_[2].starts_with(key_of(3) + ": ")) << damage_[2];
  EXPECT_TRUE(damage_[3].contains("index")) << damage_[3];
  EXPECT_TRUE(damage_[4].contains("cluster")) << damage_[4];
  check(false);
  EXPECT_EQ(damage_.size(), 2U);  // what sizes show
}

// An object that goes while it is looked for was not needed any more; one that comes is no orphan.
TEST_F(BucketCheckTest, WhatComesAndGoesMeanwhileIsNoDamage) {
  put(1, cluster());
  commit(1);
  put(2, cluster());
  before_second_ = [this] {
    before_second_ = nullptr;
    submit(metadata::DeleteTopics{.topics = {kTopic}});
    ASSERT_TRUE(run(store_.remove({key_of(1)})));
  };
  const BucketCounts counts = check();
  EXPECT_EQ(damage_, std::vector<std::string>());
  EXPECT_EQ(counts.damaged, 0U);
  EXPECT_EQ(counts.orphans, 1U);
}

}  // namespace
}  // namespace weir

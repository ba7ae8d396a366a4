#include "main/bucket_check.h"

#include "kafka/records/batch_builder.h"
#include "metadata/coordinator_harness.h"
#include "metadata/log_coordinator.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"
#include "storage/wal_object.h"

#include <fmt/format.h>

namespace weir {
namespace {

using Lines = std::vector<std::string>;

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
      command.runs.push_back({.topic = kTopic,
                              .partition = partition,
                              .byte_offset = static_cast<std::uint32_t>(partition) * length,
                              .batch_count = 1});
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
    if (after_state_) after_state_(++states_);
    if (!miscounted_) co_return state;
    metadata::Tables tables = state.tables();
    metadata::ObjectState object = *tables.objects.objects().find(*miscounted_);
    ++object.live_extents;
    tables.objects.restore(*miscounted_, object);
    co_return metadata::State(std::move(tables), state.chain());
  }
  Uuid cluster() { return run(state()).value().tables().cluster_id; }

  BucketCounts check(bool reads_objects = true) {
    states_ = 0;
    damage_.clear();
    BucketCheck check(
        faulty_, [this] { return state(); }, context_.get_executor(), reads_objects,
        [this](const std::string& line) { damage_.push_back(line); });
    auto counts = run(check.run());
    EXPECT_TRUE(counts) << counts.error().to_string();
    return counts.value_or(BucketCounts());
  }

  storage::MemoryStore store_{clock_};
  std::unique_ptr<metadata::LogCoordinator> coordinator_;
  storage::FaultyStore faulty_{store_, clock_};
  Lines damage_;
  int states_ = 0;
  std::optional<metadata::ObjectId> miscounted_;
  std::function<void(int)> after_state_;  // with the number of the state that was read
};

TEST_F(BucketCheckTest, WhatIsWholeIsCounted) {
  for (std::int64_t i = 1; i <= 20; ++i) {
    put(i, cluster());
    if (i <= 18) commit(i);
  }
  const BucketCounts counts = check();
  EXPECT_EQ(damage_, Lines());
  EXPECT_EQ(counts.objects, 18U);
  EXPECT_EQ(counts.extents, 36U);
  EXPECT_EQ(counts.unnamed, 2U);
  EXPECT_EQ(counts.unnamed_bytes, counts.bytes / 9);
  EXPECT_EQ(counts.damaged, 0U);
  submit(metadata::DeleteTopics{.topics = {kTopic}});
  EXPECT_EQ(check().unneeded, 18U);
}

// Which records are lost, and no others: others may be deleted for it.
TEST_F(BucketCheckTest, WhatIsDamagedIsNamedWithItsRecords) {
  for (std::int64_t i = 1; i <= 7; ++i) {
    put(i, i == 5 ? Uuid{9, 9} : cluster());
    commit(i);
  }
  ASSERT_TRUE(run(store_.remove({key_of(1)})));
  change(2, [](auto& bytes) { bytes.resize(batch().size() + 10); });
  change(3, [](auto& bytes) { bytes[2 * batch().size() - 2] ^= std::byte{1}; });
  change(4, [](auto& bytes) { bytes[2 * batch().size() + 1] ^= std::byte{1}; });
  const BucketCounts counts = check();
  EXPECT_EQ(counts.damaged, 5U);
  EXPECT_EQ(counts.objects, 7U);
  const Lines lost = {"; lost: t-0 offsets 0 to 1, t-1 offsets 0 to 1",
                      "; lost: t-1 offsets 2 to 3", "; lost: t-1 offsets 4 to 5",
                      "; no records are lost", "; no records are lost"};
  const Lines what = {"is missing;", fmt::format("has {} bytes, and", batch().size() + 10), "CRC",
                      "index", "cluster"};
  ASSERT_EQ(damage_.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(damage_[i].starts_with(key_of(static_cast<std::int64_t>(i) + 1) + ": "));
    EXPECT_TRUE(damage_[i].contains(what[i])) << damage_[i];
    EXPECT_TRUE(damage_[i].ends_with(lost[i])) << damage_[i];
  }
  check(false);
  EXPECT_EQ(damage_.size(), 2U);  // what sizes show
  EXPECT_TRUE(damage_[1].ends_with(lost[1])) << damage_[1];
}

// An object that goes while it is looked for was not needed any more, and is none that nobody
// names.
TEST_F(BucketCheckTest, WhatComesAndGoesMeanwhileIsNoDamage) {
  for (std::int64_t i = 1; i <= 3; ++i) put(i, cluster());
  commit(1);
  commit(2);
  const auto forget = [this](std::int64_t sequence) {
    submit(metadata::ForgetObjects{
        .objects = {{.epoch = coordinator_->broker_epoch(), .sequence = sequence}}});
  };
  after_state_ = [&](int states) {
    if (states != 1) return;
    submit(metadata::DeleteTopics{.topics = {kTopic}});
    ASSERT_TRUE(run(store_.remove({key_of(1)})));
    forget(1);
    forget(2);  // it is listed, and gone a moment later
  };
  const BucketCounts counts = check();
  EXPECT_EQ(damage_, Lines());
  EXPECT_EQ(counts.damaged, 0U);
  EXPECT_EQ(counts.unnamed, 1U);
}

TEST_F(BucketCheckTest, OneThatCannotBeReadEndsNothing) {
  for (std::int64_t i = 1; i <= 3; ++i) {
    put(i, cluster());
    commit(i);
  }
  change(3, [](auto& bytes) { bytes[10] ^= std::byte{1}; });
  faulty_.set_plan([&](const storage::StoreCall& call) {
    if (call.key != key_of(2)) return storage::StoreFault();
    return storage::StoreFault{.error = Error{ErrorCode::kInvalid, "AccessDenied"}};
  });
  const BucketCounts counts = check();
  EXPECT_EQ(counts.unreadable, 1U);
  EXPECT_EQ(counts.damaged, 1U);
  EXPECT_EQ(damage_.at(0), key_of(2) + ": could not be read: invalid: AccessDenied");
  EXPECT_TRUE(damage_.at(1).starts_with(key_of(3)));
}

// It would be deleted by nobody, or too early.
TEST_F(BucketCheckTest, AWrongCountIsDamage) {
  put(1, cluster());
  commit(1);
  miscounted_ = metadata::ObjectId{.epoch = coordinator_->broker_epoch(), .sequence = 1};
  check();
  EXPECT_EQ(damage_,
            Lines{key_of(1) + ": the metadata counts 3 extents in it, and has 2; no records "
                              "are lost"});
  submit(metadata::DeleteTopics{.topics = {kTopic}});
  EXPECT_EQ(check().damaged, 1U);
}

TEST_F(BucketCheckTest, AStoreThatHasNothingIsAnother) {
  put(1, cluster());
  commit(1);
  ASSERT_TRUE(run(store_.remove({key_of(1)})));
  states_ = 0;
  BucketCheck check(
      store_, [this] { return state(); }, context_.get_executor(), true,
      [](const std::string& line) { ADD_FAILURE() << line; });
  auto counts = run(check.run());
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(counts.error().message.contains("has none")) << counts.error().message;
}

}  // namespace
}  // namespace weir

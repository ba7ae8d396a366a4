// Snapshots of a running coordinator: when they are written, what they replace, and how a broker
// starts from them.
#include "metadata/coordinator_harness.h"
#include "metadata/snapshot_load.h"
#include "metadata/state/test_log.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

using kafka::KafkaError;
using std::chrono::seconds;

class SnapshotTest : public CoordinatorHarness {
 protected:
  static constexpr std::uint64_t kEvery = 20;  // entries

  ~SnapshotTest() override {
    for (auto& coordinator : coordinators_) run(coordinator->stop());
  }
  LogCoordinator& make(BrokerId broker = 1) {
    LogCoordinatorOptions options{.broker_id = broker};
    options.snapshots.log_entries = every_;
    options.snapshots.interval = interval_;
    logs_.push_back(std::make_unique<Cable>(log_));
    stores_.push_back(std::make_unique<SnapshotStore>(store_, *logs_.back()));
    coordinators_.push_back(std::make_unique<LogCoordinator>(
        *logs_.back(), stores_.back().get(), clock_, Rng(++seed_), context_.get_executor(),
        context_.get_executor(), options));
    return *coordinators_.back();
  }
  LogCoordinator& start(BrokerId broker = 1) {
    LogCoordinator& coordinator = make(broker);
    coordinator.start();
    EXPECT_TRUE(run(coordinator.wait_registered()));
    return coordinator;
  }
  TopicId create(LogCoordinator& coordinator, const std::string& name) {
    CreateTopics command;
    command.topics.push_back({.name = name, .id = topic_id(name)});
    EXPECT_TRUE(run(coordinator.submit(command)));
    return topic_id(name);
  }
  void commit(LogCoordinator& coordinator, const TopicId& topic, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      auto result =
          run(coordinator.submit(ObjectBuilder({coordinator.broker_epoch(), next_object_++})
                                     .run(topic)
                                     .batch(1, 7, 0, next_sequence_++)));
      ASSERT_TRUE(result && result->batches.at(0).error == KafkaError::kNone);
    }
    run_for(std::chrono::milliseconds(20));
  }
  void cut_store() {
    store_.set_plan([](const storage::StoreCall&) {
      return storage::StoreFault{.error = Error{ErrorCode::kUnavailable, "no store"}};
    });
  }
  Position snapshot() { return log_.image().snapshot.position; }

  storage::MemoryStore memory_{clock_};
  storage::FaultyStore store_{memory_, clock_};
  std::vector<std::unique_ptr<Cable>> logs_;
  std::vector<std::unique_ptr<SnapshotStore>> stores_;
  std::vector<std::unique_ptr<LogCoordinator>> coordinators_;
  std::int64_t next_object_ = 0;
  std::int32_t next_sequence_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t every_ = kEvery;
  Duration interval_ = Duration::zero();
};

TEST_F(SnapshotTest, IsWrittenWhenTheLogHasGrownAndTheLogIsTrimmedBehindTheOneBefore) {
  LogCoordinator& coordinator = start();
  TopicId topic = create(coordinator, "orders");
  commit(coordinator, topic, kEvery - 5);
  EXPECT_EQ(snapshot(), 0);
  commit(coordinator, topic, 10);
  Position first = snapshot();
  EXPECT_GE(first, static_cast<Position>(kEvery));
  EXPECT_EQ(log_.image().trimmed, 0);
  commit(coordinator, topic, kEvery + 1);
  EXPECT_GE(snapshot(), first + static_cast<Position>(kEvery));
  EXPECT_EQ(log_.image().trimmed, first);
}

TEST_F(SnapshotTest, ARestartGoesOnFromIt) {
  LogCoordinator& before = start();
  TopicId topic = create(before, "orders");
  commit(before, topic, 3 * kEvery);
  MetadataStat stat = run(before.stat());
  EXPECT_EQ(stat.extents, 3 * kEvery);
  run(before.stop());
  ASSERT_GT(log_.image().trimmed, 0);
  LogCoordinator& after = make();
  after.start();
  ASSERT_TRUE(run(after.wait_registered()));
  EXPECT_EQ(after.image()->topic("orders")->partition(0)->view().high_watermark,
            3 * static_cast<Offset>(kEvery));
  EXPECT_EQ(run(after.stat()).live_bytes, stat.live_bytes);
  commit(after, topic, 5);  // the producer is still known
}

TEST_F(SnapshotTest, AllBrokersHaveOneStateAtOnePosition) {
  LogCoordinator& one = start(1);
  TopicId topic = create(one, "orders");
  commit(one, topic, 2 * kEvery + 7);
  LogCoordinator& two = start(2);  // from the snapshot and the rest
  ASSERT_TRUE(run(one.catch_up()));
  ASSERT_TRUE(run(two.catch_up()));
  EXPECT_EQ(run(one.stat()), run(two.stat()));
}

TEST_F(SnapshotTest, OnlyTheFirstLiveBrokerWrites) {
  LogCoordinator& two = start(2);
  LogCoordinator& one = start(1);
  TopicId topic = create(two, "orders");
  commit(two, topic, kEvery + 2);
  ASSERT_GT(snapshot(), 0);
  EXPECT_TRUE(log_.image().snapshot.manifest_key.ends_with(fmt::format("-{}", one.broker_epoch())))
      << log_.image().snapshot.manifest_key;
}

TEST_F(SnapshotTest, WhatAnotherBrokerWroteCounts) {
  LogCoordinator& one = start(1);
  start(2);
  TopicId topic = create(one, "orders");
  std::string last;
  for (int i = 0; i < 20; ++i) {
    commit(one, topic, kEvery / 2);
    if (log_.image().snapshot.manifest_key == last) continue;
    last = log_.image().snapshot.manifest_key;
    EXPECT_TRUE(last.ends_with(fmt::format("-{}", one.broker_epoch()))) << last;
  }
  EXPECT_GT(snapshot(), 0);
}

TEST_F(SnapshotTest, IsWrittenAfterATimeOnlyWhenThereIsSomethingNew) {
  interval_ = seconds(60);
  LogCoordinator& coordinator = start();
  run_for(seconds(50));
  EXPECT_EQ(snapshot(), 0);
  run_for(seconds(11));  // the registration is new
  Position first = snapshot();
  EXPECT_GT(first, 0);
  run_for(seconds(130));
  EXPECT_EQ(snapshot(), first);
  create(coordinator, "orders");
  run_for(seconds(61));
  EXPECT_GT(snapshot(), first);
}

TEST_F(SnapshotTest, AFailureIsTriedAgainAndCommitsGoOn) {
  LogCoordinator& coordinator = start();
  TopicId topic = create(coordinator, "orders");
  cut_store();
  commit(coordinator, topic, kEvery + 5);
  EXPECT_EQ(snapshot(), 0);
  EXPECT_TRUE(coordinator.status());
  store_.set_plan({});
  run_for(seconds(31));
  EXPECT_GT(snapshot(), 0);
}

TEST_F(SnapshotTest, ABrokerStartsWhenTheStoreDoes) {
  LogCoordinator& before = start();
  TopicId topic = create(before, "orders");
  commit(before, topic, 3 * kEvery);
  run(before.stop());
  cut_store();
  LogCoordinator& after = make();
  after.start();
  run_for(seconds(5));
  EXPECT_EQ(after.status().error().code, ErrorCode::kUnavailable);
  EXPECT_NE(after.status().error().message.find("no store"), std::string::npos);
  store_.set_plan({});
  EXPECT_TRUE(run(after.wait_registered()));
  EXPECT_NE(after.image()->topic("orders"), nullptr);
}

TEST_F(SnapshotTest, ALostSnapshotDoesNotMatterWhileTheLogIsWhole) {
  LogCoordinator& before = start();
  TopicId topic = create(before, "orders");
  commit(before, topic, kEvery + 5);
  run(before.stop());
  MemoryLog::Image image = log_.image();
  ASSERT_GT(image.snapshot.position, 0);
  ASSERT_EQ(image.trimmed, 0);
  ASSERT_TRUE(run(store_.remove({image.snapshot.manifest_key})));
  LogCoordinator& after = start();
  EXPECT_EQ(after.image()->topic("orders")->partition(0)->view().high_watermark,
            static_cast<Offset>(kEvery) + 5);
}

// What the log and the store hold after some snapshots, of a broker that stopped.
struct Kept {
  Position previous = 0;
  Position latest = 0;
};

class LostSnapshotTest : public SnapshotTest {
 protected:
  static constexpr std::uint64_t kRecords = 3 * kEvery;

  Kept write_snapshots() {
    LogCoordinator& before = start();
    topic_ = create(before, "orders");
    commit(before, topic_, kRecords - kEvery / 2);
    create(before, "late");  // the part with the topics is of the latest alone
    commit(before, topic_, kEvery / 2);
    Kept kept{.previous = log_.image().trimmed, .latest = snapshot()};
    run(before.stop());
    EXPECT_GT(kept.previous, 0);
    EXPECT_GT(kept.latest, kept.previous);
    return kept;
  }
  SnapshotManifest latest_manifest() { return manifest(log_.image().snapshot.manifest_key); }
  SnapshotManifest manifest(const std::string& key) {
    return decode_manifest(run(memory_.get(key)).value().bytes()).value();
  }
  void damage(const SnapshotChunk& chunk) {
    const Slice whole = run(memory_.get(chunk_key(chunk))).value();
    std::vector<std::byte> bytes(whole.bytes().begin(), whole.bytes().end());
    bytes[bytes.size() / 2] ^= std::byte{1};
    ASSERT_TRUE(run(memory_.put(chunk_key(chunk), Chain(Slice::of(std::move(bytes))), {})));
  }
  void damage_latest(std::string_view name) {
    for (const SnapshotChunk& chunk : latest_manifest().chunks) {
      if (chunk.name == name) return damage(chunk);
    }
    FAIL() << name;
  }
  Offset end(LogCoordinator& coordinator) {
    return coordinator.image()->topic("orders")->partition(0)->view().high_watermark;
  }

  TopicId topic_;
};

TEST_F(LostSnapshotTest, TheOneBeforeAndTheLogReplaceADamagedOne) {
  write_snapshots();
  damage_latest("head");
  LogCoordinator& after = start();
  EXPECT_EQ(end(after), static_cast<Offset>(kRecords));
  commit(after, topic_, 2);  // its producer is known, too
}

TEST_F(LostSnapshotTest, ALostManifestIsReplacedToo) {
  write_snapshots();
  ASSERT_TRUE(run(memory_.remove({log_.image().snapshot.manifest_key})));
  LogCoordinator& after = start();
  EXPECT_EQ(end(after), static_cast<Offset>(kRecords));
  commit(after, topic_, 2);
}

TEST_F(LostSnapshotTest, ANewOneIsWrittenAtOnceThatSharesNothing) {
  const Kept kept = write_snapshots();
  const SnapshotManifest damaged = latest_manifest();
  damage_latest("topics");  // the topics do not change any more
  LogCoordinator& after = start();
  commit(after, topic_, 1);
  const SnapshotManifest written = latest_manifest();
  ASSERT_GT(written.position, damaged.position);
  for (const SnapshotChunk& chunk : written.chunks) {
    EXPECT_EQ(chunk.written_at, written.position) << chunk.name;
  }
  // The log goes back to the one before, which is kept.
  EXPECT_EQ(log_.image().trimmed, kept.previous);
  damage(written.chunks.front());
  run(after.stop());
  LogCoordinator& again = start();
  EXPECT_EQ(end(again), static_cast<Offset>(kRecords) + 1);
}

TEST_F(LostSnapshotTest, NoBrokerSharesWithOneWhoseManifestIsLost) {
  LogCoordinator& one = start(1);
  topic_ = create(one, "orders");
  LogCoordinator& two = start(2);
  commit(one, topic_, 2 * kEvery);
  ASSERT_TRUE(run(two.catch_up()));
  const Position lost = snapshot();
  ASSERT_TRUE(run(memory_.put(log_.image().snapshot.manifest_key, Chain(Slice::copy_of("x")), {})));
  run(one.stop());
  // Now it is for the second to write; it knows the snapshot of before.
  commit(two, topic_, 3 * kEvery);
  const SnapshotManifest written = latest_manifest();
  EXPECT_GT(written.position, lost);
  for (const SnapshotChunk& chunk : written.chunks) EXPECT_GT(chunk.written_at, lost);
}

// The snapshot of before the lost one is all there is until one follows on that which it writes.
TEST_F(LostSnapshotTest, OneThatKnowsOfNoneDeletesNone) {
  LogCoordinator& one = start(1);
  LogCoordinator& two = start(2);
  topic_ = create(one, "orders");
  commit(one, topic_, kEvery + 4);
  logs_.back()->deafen();
  commit(one, topic_, kEvery);
  ASSERT_GT(log_.image().trimmed, 0);
  const Position lost = snapshot();
  ASSERT_TRUE(run(memory_.put(log_.image().snapshot.manifest_key, Chain(Slice::copy_of("x")), {})));
  run(one.stop());
  logs_.back()->hear();
  commit(two, topic_, 1);
  ASSERT_GT(snapshot(), lost);
  damage_latest("head");
  run(two.stop());
  LogCoordinator& after = start();
  EXPECT_EQ(end(after), 2 * static_cast<Offset>(kEvery) + 5);
}

// It stands in the store since before the log was restored to an older state, and right before the
// latest.
TEST_F(LostSnapshotTest, OneOfAnotherHistoryIsNotUsed) {
  every_ = 5 * kEvery / 2;
  LogCoordinator& other = start();
  commit(other, create(other, "other"), every_ + 1);
  run(other.stop());
  const SnapshotRef foreign = log_.image().snapshot;
  log_.restore({});
  every_ = kEvery;
  const Kept kept = write_snapshots();
  ASSERT_LT(kept.previous, foreign.position);
  ASSERT_GT(kept.latest, foreign.position);
  ASSERT_TRUE(run(memory_.head(foreign.manifest_key)));
  damage_latest("head");
  LogCoordinator& after = start();
  EXPECT_EQ(end(after), static_cast<Offset>(kRecords));
  EXPECT_EQ(after.image()->topic("other"), nullptr);
}

TEST_F(LostSnapshotTest, TheStateIsTheSameAtThePositionOfTheLatest) {
  const Kept kept = write_snapshots();
  SnapshotStore snapshots(memory_, log_);
  auto whole = run(restore_state(snapshots, log_, context_.get_executor()));
  damage_latest("head");
  auto fallen_back = run(restore_state(snapshots, log_, context_.get_executor()));
  ASSERT_TRUE(whole && fallen_back);
  EXPECT_EQ(whole->snapshot.ref.position, kept.latest);
  EXPECT_TRUE(whole->lost.empty());
  EXPECT_EQ(fallen_back->snapshot.ref.position, kept.previous);
  EXPECT_EQ(fallen_back->lost.size(), 1U);
  for (auto* restored : {&*whole, &*fallen_back}) {
    for (Position at = restored->state.position(); at < run(log_.tail()).value(); ++at) {
      ASSERT_TRUE(restored->state.apply(run(log_.read(at, 1)).value().front()));
    }
  }
  EXPECT_EQ(stat_of(whole->state), stat_of(fallen_back->state));
}

TEST_F(LostSnapshotTest, WhatIsDamagedOnTheWayIsReadAgain) {
  write_snapshots();
  // What is asked for the first time is another until it is asked for again.
  std::map<std::string, Slice> damaged;
  boost::asio::io_context loop;
  store_.set_plan([&](const storage::StoreCall& call) {
    const std::string& key = call.key;
    if (call.operation == storage::StoreOperation::kGet) {
      Slice bytes = Slice::copy_of("other");
      const auto [whole, is_first] = damaged.try_emplace(key);
      if (is_first) whole->second = run_task(loop, memory_.get(key)).value();
      if (!is_first) bytes = whole->second;
      EXPECT_TRUE(run_task(loop, memory_.put(key, Chain(bytes), {})));
    }
    return storage::StoreFault();
  });
  SnapshotStore snapshots(store_, log_);
  auto restored = run(restore_state(snapshots, log_, context_.get_executor()));
  ASSERT_TRUE(restored);
  EXPECT_TRUE(restored->lost.empty());
  EXPECT_GT(damaged.size(), 2U);
}

TEST_F(SnapshotTest, ALostSnapshotOfATrimmedLogIsReported) {
  LogCoordinator& before = start();
  TopicId topic = create(before, "orders");
  commit(before, topic, 3 * kEvery);
  run(before.stop());
  ASSERT_GT(log_.image().trimmed, 0);
  for (const auto& info : run(store_.list("snapshots/", "", 1000)).value().objects) {
    if (info.key.find("manifest") != std::string::npos) ASSERT_TRUE(run(store_.remove({info.key})));
  }
  LogCoordinator& after = make();
  after.start();
  run_for(seconds(3));
  EXPECT_EQ(after.status().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(run(after.submit(Heartbeat{})).error().code, ErrorCode::kUnavailable);
}

TEST_F(SnapshotTest, ABrokerThatFellBehindTheTrimmedLogTakesTheSnapshot) {
  struct Listener final : CommitListener {
    void on_partitions_advanced(std::span<const TopicPartition> advanced) override {
      partitions += advanced.size();
    }
    void on_image_changed() override { ++images; }
    std::size_t partitions = 0;
    int images = 0;
  } listener;
  LogCoordinator& one = start(1);
  LogCoordinator& two = make(2);
  two.add_listener(listener);
  two.start();
  ASSERT_TRUE(run(two.wait_registered()));
  Cable& log_of_two = *logs_.back();
  TopicId topic = create(one, "orders");
  commit(one, topic, 2);
  ASSERT_TRUE(run(two.catch_up()));
  auto held = two.image()->topic("orders");
  log_of_two.cut(true);
  commit(one, topic, 4 * kEvery);
  ASSERT_GT(log_.image().trimmed, two.applied());
  listener = {};
  log_of_two.cut(false);
  run_until([&] { return two.applied() >= one.applied(); });
  EXPECT_EQ(two.image()->topic("orders")->partition(0)->view().high_watermark,
            4 * static_cast<Offset>(kEvery) + 2);
  EXPECT_EQ(run(one.stat()), run(two.stat()));
  EXPECT_GE(listener.images, 1);
  EXPECT_GE(listener.partitions, 1U);
  EXPECT_TRUE(two.status());
  EXPECT_TRUE(run(two.submit(Heartbeat{})));
  run(two.stop());
}

// Its answer was lost, then its broker was cut off, and the log was trimmed behind a snapshot that
// shows the record as applied and the epoch as ended.
TEST_F(SnapshotTest, ARecordThatStoodBeforeItsEpochEndedIsNotToldToHaveNoEffect) {
  LogCoordinator& one = start(1);
  LogCoordinator& two = start(2);
  Cable& log_of_two = *logs_.back();
  TopicId topic = create(one, "orders");
  ASSERT_TRUE(run(two.catch_up()));
  log_of_two.deafen();
  run_for(seconds(1));
  log_.fail_append(1, MemoryLog::Effect::kDone);
  const std::size_t appends = log_.appends();
  auto pending = begin(two.submit(ObjectBuilder({two.broker_epoch(), 0}).run(topic).batch(1)));
  run_until([&] { return log_.appends() > appends; });
  log_of_two.cut(true);
  ASSERT_FALSE(pending.done());
  run_until([&] { return !one.image()->brokers.contains(2); });
  commit(one, topic, 4 * kEvery);
  ASSERT_GT(log_.image().trimmed, two.applied() + 1);
  EXPECT_EQ(one.image()->topic("orders")->partition(0)->view().high_watermark,
            4 * static_cast<Offset>(kEvery) + 1);
  log_of_two.cut(false);
  log_of_two.hear();
  auto result = finish(pending);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled) << result.error().to_string();
  run(two.stop());
}

// The new history grows past all positions that the broker knows.
TEST_F(SnapshotTest, ABrokerOfAnotherHistoryRecordsNone) {
  interval_ = seconds(10);
  LogCoordinator& one = start(1);
  TopicId topic = create(one, "orders");
  MemoryLog::Image backup = log_.image();
  commit(one, topic, kEvery - 5);
  log_.restore(backup);
  run_until([&] { return !one.status(); });
  ASSERT_EQ(one.status().error().code, ErrorCode::kCorrupt);
  LogCoordinator& two = start(2);
  commit(two, topic, 2 * kEvery);
  // Time after time, until it is the turn of either.
  for (int i = 0; i < 40; ++i) {
    run_for(seconds(1));
    const std::string key = log_.image().snapshot.manifest_key;
    ASSERT_TRUE(key.empty() || key.ends_with(fmt::format("-{}", two.broker_epoch()))) << key;
  }
  EXPECT_GT(snapshot(), 0);
  LogCoordinator& three = start(3);
  ASSERT_TRUE(run(two.catch_up()));
  ASSERT_TRUE(run(three.catch_up()));
  EXPECT_EQ(run(two.stat()), run(three.stat()));
}

// It is put back while a snapshot is on its way to the store, and is longer than it soon.
TEST_F(SnapshotTest, OneThatWasFrozenBeforeTheLogWentBackIsNotRecorded) {
  LogCoordinator& one = start(1);
  TopicId topic = create(one, "orders");
  MemoryLog::Image backup = log_.image();
  commit(one, topic, kEvery - 5);
  auto gate = std::make_shared<storage::StoreGate>();
  store_.set_plan([&](const storage::StoreCall& call) {
    const bool is_manifest = call.key.find("manifest") != std::string::npos;
    return is_manifest ? storage::StoreFault{.hold = gate} : storage::StoreFault{};
  });
  commit(one, topic, 5);
  ASSERT_EQ(snapshot(), 0);
  log_.restore(backup);
  run_until([&] { return !one.status(); });
  LogCoordinator& two = start(2);
  commit(two, topic, kEvery);
  gate->open();
  store_.set_plan({});
  run_for(seconds(1));
  EXPECT_FALSE(log_.image().snapshot.manifest_key.ends_with(fmt::format("-{}", 2)));
  LogCoordinator& three = start(3);
  ASSERT_TRUE(run(two.catch_up()));
  EXPECT_EQ(run(two.stat()).extents, run(three.stat()).extents);
}

}  // namespace
}  // namespace weir::metadata

#include "metadata/log_coordinator.h"

#include "metadata/coordinator_harness.h"
#include "metadata/state/test_log.h"

#include <numeric>
#include <stdexcept>

namespace weir::metadata {
namespace {

using kafka::KafkaError;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Counts calls of tail(), and may hold an append back while its caller is told that time ran out.
class CountingLog final : public MetadataLog {
 public:
  explicit CountingLog(MetadataLog& log) : log_(log) {}
  Task<Result<Appended>> append(Slice entry, Position known) override {
    if (std::exchange(hold_next, false)) {
      held_ = std::move(entry);
      co_return fail(ErrorCode::kTimeout, "no answer");
    }
    co_return co_await log_.append(std::move(entry), known);
  }
  Task<Result<Appended>> append_held() { return log_.append(std::move(held_), 0); }
  Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit) override {
    return log_.read(after, limit);
  }
  Task<Result<Position>> tail() override {
    ++tails;
    return log_.tail();
  }
  Task<void> wait_past(Position position, MonoTime deadline) override {
    return log_.wait_past(position, deadline);
  }
  Task<Result<SnapshotRef>> latest_snapshot() override { return log_.latest_snapshot(); }
  Task<Status> record_snapshot(SnapshotRef ref) override {
    return log_.record_snapshot(std::move(ref));
  }
  Task<Status> trim(Position upto) override { return log_.trim(upto); }
  Task<Result<Uuid>> cluster_id(Uuid proposal) override { return log_.cluster_id(proposal); }
  [[nodiscard]] std::uint64_t incarnation() const override { return connections; }

  int tails = 0;
  std::uint64_t connections = 0;
  bool hold_next = false;

 private:
  MetadataLog& log_;
  Slice held_;
};

class LogCoordinatorTest : public CoordinatorHarness {
 protected:
  ~LogCoordinatorTest() override {
    for (auto& coordinator : coordinators_) run(coordinator->stop());
  }

  LogCoordinator& make(BrokerId broker = 1, AppenderOptions appender = {}) {
    LogCoordinatorOptions options{.broker_id = broker, .appender = appender, .metrics = metrics_};
    options.endpoints = {{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}};
    coordinators_.push_back(std::make_unique<LogCoordinator>(counting_, nullptr, clock_,
                                                             Rng(++seed_), context_.get_executor(),
                                                             context_.get_executor(), options));
    return *coordinators_.back();
  }
  LogCoordinator& start(BrokerId broker = 1, AppenderOptions appender = {}) {
    LogCoordinator& coordinator = make(broker, appender);
    coordinator.start();
    EXPECT_TRUE(run(coordinator.wait_registered()));
    return coordinator;
  }
  TopicId create(LogCoordinator& coordinator, const std::string& name) {
    CreateTopics command;
    command.topics.push_back({.name = name, .id = topic_id(name)});
    auto result = run(coordinator.submit(command));
    EXPECT_TRUE(result && result->items.at(0).error == KafkaError::kNone);
    return topic_id(name);
  }
  // A batch of one record in an object of its own.
  Command commit(LogCoordinator& coordinator, const TopicId& topic) {
    return ObjectBuilder({coordinator.broker_epoch(), next_object_++}).run(topic).batch(1);
  }
  static Offset high_watermark(const LogCoordinator& coordinator, const TopicId& topic) {
    return coordinator.image()->topic(topic)->partition(0)->view().high_watermark;
  }

  CountingLog counting_{log_};
  MetricsRegistry registry_;
  MetricsRegistry* metrics_ = nullptr;  // of those that are made
  std::vector<std::unique_ptr<LogCoordinator>> coordinators_;
  std::int64_t next_object_ = 0;
  std::uint64_t seed_ = 0;
};

TEST_F(LogCoordinatorTest, CountsWhatItFollows) {
  LogCoordinator& other = start(2);
  metrics_ = &registry_;
  LogCoordinator& coordinator = start(1);
  metrics_ = nullptr;
  const auto sample_of = [&](const std::string& name) {
    for (const MetricFamily& family : registry_.snapshot()) {
      if (family.name == name) return family.samples.at(0);
    }
    throw std::runtime_error("no metric " + name);
  };
  const auto followed = [&] {
    const auto counts = sample_of("weir_metadata_follow_seconds").bucket_counts;
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  const auto before = followed();
  create(coordinator, "own");
  EXPECT_EQ(followed(), before);
  create(other, "other");
  ASSERT_TRUE(run(coordinator.catch_up()));
  EXPECT_EQ(followed(), before + 1);
  EXPECT_EQ(sample_of("weir_metadata_live_brokers").value, 2);
  EXPECT_EQ(sample_of("weir_metadata_position").value,
            static_cast<double>(run(log_.tail()).value()));
}

TEST_F(LogCoordinatorTest, RegistersAndCommits) {
  LogCoordinator& coordinator = start();
  EXPECT_TRUE(coordinator.status());
  EXPECT_EQ(coordinator.broker_epoch(), 1);  // the first entry creates the cluster and registers
  auto image = coordinator.image();
  EXPECT_EQ(image->cluster_id, *log_.image().cluster_id);
  EXPECT_EQ(image->brokers.at(1).endpoints.at(0).port, 9092);
  TopicId topic = create(coordinator, "orders");
  auto result = run(coordinator.submit(commit(coordinator, topic)));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->batches.at(0).base_offset, 0);
  EXPECT_EQ(high_watermark(coordinator, topic), 1);
  EXPECT_EQ(coordinator.applied(), 3);
}

TEST_F(LogCoordinatorTest, CommandsThatComeTogetherShareARecord) {
  LogCoordinator& coordinator = start();
  TopicId topic = create(coordinator, "orders");
  std::size_t before = log_.appends();
  std::vector<Pending<Result<CommandResult>>> pending;
  for (int i = 0; i < 100; ++i)
    pending.push_back(begin(coordinator.submit(commit(coordinator, topic))));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(finish(pending[static_cast<std::size_t>(i)])->batches.at(0).base_offset, i);
  }
  EXPECT_LE(log_.appends() - before, 2U);
}

TEST_F(LogCoordinatorTest, RecordsHaveLimits) {
  LogCoordinator& coordinator = start(1, {.record_commands = 3});
  std::size_t before = log_.appends();
  std::vector<Pending<Result<CommandResult>>> pending;
  for (int i = 0; i < 9; ++i) pending.push_back(begin(coordinator.submit(Heartbeat{})));
  for (auto& p : pending) EXPECT_TRUE(finish(p));
  EXPECT_GE(log_.appends() - before, 3U);

  LogCoordinator& small = start(2, {.record_bytes = 10});
  before = log_.appends();
  pending.clear();
  // Each larger than a record may be: they go alone.
  for (int i = 0; i < 3; ++i)
    pending.push_back(begin(small.submit(SetFeatureLevel{.feature = "a long name of a feature"})));
  for (auto& p : pending) EXPECT_TRUE(finish(p));
  EXPECT_EQ(log_.appends() - before, 3U);
}

TEST_F(LogCoordinatorTest, TheQueueHasALimit) {
  LogCoordinator& coordinator = start(1, {.queue_commands = 5});
  log_.set_delays({.before = seconds(1)});
  std::vector<Pending<Result<CommandResult>>> pending;
  pending.push_back(begin(coordinator.submit(Heartbeat{})));
  run_for(milliseconds(10));
  for (int i = 0; i < 6; ++i) pending.push_back(begin(coordinator.submit(Heartbeat{})));
  poll();
  EXPECT_EQ(pending.back()->error().code, ErrorCode::kExhausted);
  pending.pop_back();
  for (auto& p : pending) EXPECT_TRUE(finish(p));
  log_.set_delays({});
}

TEST_F(LogCoordinatorTest, ALostAnswerIsSettledWithoutApplyingTwice) {
  for (auto effect : {MemoryLog::Effect::kDone, MemoryLog::Effect::kNone}) {
    for (auto code : {ErrorCode::kTimeout, ErrorCode::kUnavailable}) {
      LogCoordinator& coordinator = start();
      TopicId topic = topic_id("orders");
      if (coordinator.image()->topic(topic) == nullptr) create(coordinator, "orders");
      Offset before = high_watermark(coordinator, topic);
      log_.fail_append(1, effect, code);
      log_.fail_append(2, effect, code);
      auto result = run(coordinator.submit(commit(coordinator, topic)));
      ASSERT_TRUE(result);
      EXPECT_EQ(result->batches.at(0).base_offset, before);
      EXPECT_EQ(high_watermark(coordinator, topic), before + 1);
      EXPECT_EQ(run(coordinator.submit(commit(coordinator, topic)))->batches.at(0).base_offset,
                before + 1);
      run(coordinator.stop());
    }
  }
}

TEST_F(LogCoordinatorTest, DuringAnOutageCommandsFailFastAndTheDoubtfulOneIsSettled) {
  LogCoordinator& coordinator = start();
  TopicId topic = create(coordinator, "orders");
  log_.fail_append(1, MemoryLog::Effect::kDone);
  log_.set_delays({.after = milliseconds(5)});
  auto doubtful = begin(coordinator.submit(commit(coordinator, topic)));
  run_for(milliseconds(2));  // it stands, and the answer is under way
  log_.set_outage(Error{ErrorCode::kUnavailable, "cable cut"});
  log_.set_delays({});
  auto waiting = begin(coordinator.submit(commit(coordinator, topic)));
  run_for(seconds(4));
  EXPECT_FALSE(doubtful.done());
  EXPECT_FALSE(waiting.done());
  EXPECT_EQ(coordinator.status().error().code, ErrorCode::kUnavailable);
  run_for(seconds(3));
  EXPECT_FALSE(doubtful.done());
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting->error().code, ErrorCode::kUnavailable);
  auto late = run(coordinator.submit(Heartbeat{}));
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(late.error().message.find("cable cut"), std::string::npos);
  log_.set_outage(std::nullopt);
  EXPECT_EQ(finish(doubtful)->batches.at(0).base_offset, 0);
  EXPECT_EQ(high_watermark(coordinator, topic), 1);
  EXPECT_TRUE(coordinator.status());
  EXPECT_TRUE(run(coordinator.submit(Heartbeat{})));
}

TEST_F(LogCoordinatorTest, WithoutSpaceTheCommandFailsAndTheNextMayDo) {
  LogCoordinator& coordinator = start();
  log_.fail_append(1, MemoryLog::Effect::kNone, ErrorCode::kRefused);
  EXPECT_EQ(run(coordinator.submit(Heartbeat{})).error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(run(coordinator.submit(AllocateProducerIds{})));
}

TEST_F(LogCoordinatorTest, WithoutSpaceAfterAnUnknownOutcomeItGoesOnAsking) {
  LogCoordinator& coordinator = start();
  log_.fail_append(1, MemoryLog::Effect::kNone);
  log_.fail_append(2, MemoryLog::Effect::kNone, ErrorCode::kRefused);
  auto result = run(coordinator.submit(AllocateProducerIds{}));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->value, 0);
  EXPECT_EQ(run(coordinator.submit(AllocateProducerIds{}))->value, 1000);
}

TEST_F(LogCoordinatorTest, ACommandThatCannotBeEncodedIsRefused) {
  LogCoordinator& coordinator = start();
  EXPECT_EQ(run(coordinator.submit(CommitObject{})).error().code, ErrorCode::kInvalid);
  SetFeatureLevel huge;
  huge.feature.resize(17'000'000, 'x');
  EXPECT_EQ(run(coordinator.submit(huge)).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(run(coordinator.submit(Heartbeat{})));
}

TEST_F(LogCoordinatorTest, SeesWhatOthersAppend) {
  LogCoordinator& one = start(1);
  LogCoordinator& two = start(2);
  TopicId topic = create(one, "orders");
  run_until([&] { return two.image()->topic("orders") != nullptr; });
  EXPECT_EQ(run(two.submit(commit(two, topic)))->batches.at(0).base_offset, 0);
  EXPECT_EQ(run(one.submit(commit(one, topic)))->batches.at(0).base_offset, 1);
  run_until([&] { return high_watermark(two, topic) == 2; });
  EXPECT_EQ(one.image()->brokers.size(), 2U);
}

TEST_F(LogCoordinatorTest, CatchUpSeesEverythingThatStoodBefore) {
  LogCoordinator& one = start(1);
  LogCoordinator& two = start(2);
  for (int i = 0; i < 20; ++i) {
    auto allocated = run(one.submit(AllocateProducerIds{}));
    ASSERT_TRUE(run(two.catch_up()));
    ASSERT_GE(two.applied(), one.applied());
  }
}

TEST_F(LogCoordinatorTest, CatchUpsThatComeTogetherShareOneTail) {
  LogCoordinator& coordinator = start(1);
  log_.set_delays({.before = milliseconds(10)});
  counting_.tails = 0;
  std::vector<Pending<Status>> pending;
  for (int i = 0; i < 50; ++i) pending.push_back(begin(coordinator.catch_up()));
  for (auto& p : pending) EXPECT_TRUE(finish(p));
  // Those who come while a tail() is under way must not use its answer.
  EXPECT_LE(counting_.tails, 2);
  log_.set_delays({});
}

TEST_F(LogCoordinatorTest, CatchUpFailsWhileTheLogIsDown) {
  LogCoordinator& coordinator = start(1);
  log_.set_outage(Error{ErrorCode::kUnavailable, "cable cut"});
  EXPECT_EQ(run(coordinator.catch_up()).error().code, ErrorCode::kUnavailable);
  log_.set_outage(std::nullopt);
  EXPECT_TRUE(run(coordinator.catch_up()));
}

TEST_F(LogCoordinatorTest, AFencedBrokerRegistersAnew) {
  LogCoordinator& one = start(1);
  LogCoordinator& two = start(2);
  TopicId topic = create(one, "orders");
  BrokerEpoch old = one.broker_epoch();
  Command uploaded_before = commit(one, topic);
  ASSERT_EQ(run(two.submit(FenceBroker{.broker_id = 1, .epoch = old}))->error, KafkaError::kNone);
  // Not known here yet: the record is refused when it is applied, or the command before it is
  // appended.
  EXPECT_EQ(run(one.submit(uploaded_before)).error().code, ErrorCode::kFenced);
  ASSERT_TRUE(run(one.wait_registered()));
  EXPECT_GT(one.broker_epoch(), old);
  // An upload of the old epoch cannot be committed under the new one.
  EXPECT_EQ(run(one.submit(uploaded_before)).error().code, ErrorCode::kFenced);
  EXPECT_EQ(run(one.submit(commit(one, topic)))->batches.at(0).base_offset, 0);
  EXPECT_TRUE(one.status());
}

TEST_F(LogCoordinatorTest, ARecordInFlightOfAFencedEpochIsNotApplied) {
  LogCoordinator& one = start(1);
  LogCoordinator& two = start(2);
  TopicId topic = create(one, "orders");
  log_.fail_append(1, MemoryLog::Effect::kNone);
  auto doubtful = begin(one.submit(commit(one, topic)));
  poll();
  auto fence = begin(two.submit(FenceBroker{.broker_id = 1, .epoch = one.broker_epoch()}));
  EXPECT_EQ(finish(doubtful).error().code, ErrorCode::kFenced);
  EXPECT_TRUE(finish(fence));
  ASSERT_TRUE(run(one.wait_registered()));
  EXPECT_EQ(high_watermark(one, topic), 0);
}

// The caller must not take back what the command names (an object): others may apply it.
TEST_F(LogCoordinatorTest, ARecordInFlightWhenTheReplayFailsHasAnUnknownOutcome) {
  LogCoordinator& one = start(1);
  TopicId topic = create(one, "orders");
  counting_.hold_next = true;
  auto doubtful = begin(one.submit(commit(one, topic)));
  poll();
  ByteWriter newer;
  newer.uvarint(9999);  // a command that this version does not know
  newer.uvarint(0);
  newer.uvarint(0);
  std::vector<std::byte> commands = newer.release();
  RecordHeader header{.broker = 2, .known = one.applied()};
  ASSERT_TRUE(run(log_.append(encode_record(header, 1, commands), one.applied())));
  EXPECT_EQ(finish(doubtful).error().code, ErrorCode::kCancelled);
  ASSERT_TRUE(run(counting_.append_held()));
  EXPECT_EQ(run(one.submit(Heartbeat{})).error().code, ErrorCode::kInvalid);
}

TEST_F(LogCoordinatorTest, AnotherProcessWithTheSameIdEndsTheFirst) {
  LogCoordinator& first = start(1);
  LogCoordinator& second = start(1);
  run_until([&] { return !first.status(); });
  Status status = first.status();
  EXPECT_EQ(status.error().code, ErrorCode::kFenced);
  EXPECT_NE(status.error().message.find("node.id 1"), std::string::npos);
  EXPECT_EQ(run(first.submit(Heartbeat{})).error().code, ErrorCode::kFenced);
  run_for(seconds(10));
  EXPECT_TRUE(second.status());
  EXPECT_TRUE(run(second.submit(Heartbeat{})));
  const Error failed = run(first.failed());
  EXPECT_EQ(failed.code, ErrorCode::kFenced);
  EXPECT_FALSE(may_start_anew(failed));
}

// It would replace the process that was started in its place, and be gone then itself.
TEST_F(LogCoordinatorTest, AProcessThatStopsDoesNotRegisterAgain) {
  LogCoordinator& old = start(1);
  LogCoordinator& other = start(2);
  const BrokerEpoch epoch = old.broker_epoch();
  old.hurry();
  ASSERT_EQ(run(other.submit(FenceBroker{.broker_id = 1, .epoch = epoch}))->error,
            KafkaError::kNone);
  run_until([&] { return old.broker_epoch() != epoch; });
  run_for(seconds(10));
  EXPECT_EQ(old.broker_epoch(), -1);
  LogCoordinator& next = start(1);
  run(old.stop());
  run_for(seconds(10));
  EXPECT_TRUE(next.status());
}

TEST_F(LogCoordinatorTest, ARegistrationOfItsOwnThatComesLateChangesNothing) {
  counting_.hold_next = true;
  LogCoordinator& coordinator = start();
  BrokerEpoch first = coordinator.broker_epoch();
  const Position late = run(counting_.append_held())->position;
  run_until([&] { return coordinator.applied() >= late; });
  EXPECT_EQ(coordinator.broker_epoch(), first);
  EXPECT_TRUE(coordinator.status());
  EXPECT_TRUE(run(coordinator.submit(Heartbeat{})));
}

TEST_F(LogCoordinatorTest, ALogThatWentBackIsFoundByTheNextAppend) {
  LogCoordinator& coordinator = start(1);
  create(coordinator, "orders");
  MemoryLog::Image backup = log_.image();
  ASSERT_TRUE(run(coordinator.submit(AllocateProducerIds{})));
  log_.restore(backup);
  auto result = run(coordinator.submit(AllocateProducerIds{}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(result.error().message.find("diverged"), std::string::npos);
  EXPECT_EQ(coordinator.status().error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(run(coordinator.submit(Heartbeat{})).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(run(coordinator.catch_up()).error().code, ErrorCode::kCorrupt);
  const Error failed = run(coordinator.failed());
  EXPECT_NE(failed.message.find("diverged at position"), std::string::npos);
  EXPECT_TRUE(may_start_anew(failed));
}

TEST_F(LogCoordinatorTest, ALogThatWentBackIsFoundWithoutAppending) {
  LogCoordinator& coordinator = start(1);
  MemoryLog::Image backup = log_.image();
  ASSERT_TRUE(run(coordinator.submit(AllocateProducerIds{})));
  log_.restore(backup);
  run_until([&] { return !coordinator.status(); });
  EXPECT_EQ(coordinator.status().error().code, ErrorCode::kCorrupt);
}

TEST_F(LogCoordinatorTest, AnotherHistoryOfTheSameLengthIsFoundAfterAnOutage) {
  LogCoordinator& coordinator = start(1);
  MemoryLog::Image backup = log_.image();
  ASSERT_TRUE(run(coordinator.submit(AllocateProducerIds{})));
  log_.set_outage(Error{ErrorCode::kUnavailable, "failing over"});
  run_for(seconds(2));
  backup.entries.push_back(Slice::copy_of("another entry"));
  log_.restore(backup);
  log_.set_outage(std::nullopt);
  run_until([&] {
    return !coordinator.status() && coordinator.status().error().code == ErrorCode::kCorrupt;
  });
}

// The log was connected to again while nothing was asked of it: no call failed.
TEST_F(LogCoordinatorTest, AnotherHistoryOfTheSameLengthIsFoundBeforeAnythingIsAppended) {
  LogCoordinator& coordinator = start(1);
  MemoryLog::Image backup = log_.image();
  ASSERT_TRUE(run(coordinator.submit(AllocateProducerIds{})));
  backup.entries.push_back(Slice::copy_of("another entry"));
  log_.restore(backup);
  ++counting_.connections;
  const std::size_t appends = log_.appends();
  EXPECT_EQ(run(coordinator.submit(AllocateProducerIds{})).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(log_.appends(), appends);
}

// Objects that a lost history no longer needed may be needed in the one that the log returns to.
TEST_F(LogCoordinatorTest, WhatMayBeDeletedIsToldAsOfTheLogOnly) {
  LogCoordinator& coordinator = start(1);
  const TopicId topic = create(coordinator, "orders");
  ASSERT_TRUE(run(coordinator.submit(commit(coordinator, topic))));
  const Position later = 1000;
  const std::vector<ObjectId> orphan{{.epoch = coordinator.broker_epoch(), .sequence = 77}};
  MemoryLog::Image backup = log_.image();
  ASSERT_TRUE(run(
      coordinator.submit(TrimLogs{.trims = {{.topic = topic, .partition = 0, .log_start = 1}}})));
  EXPECT_EQ(run(coordinator.deletable_objects(later, 10))->size(), 1U);
  // The other broker's entries come, too, before the answer.
  LogCoordinator& other = start(2);
  const std::vector<ObjectId> of_other{{.epoch = other.broker_epoch(), .sequence = 1}};
  run(other.stop());
  ASSERT_TRUE(run(coordinator.catch_up()));
  EXPECT_EQ(run(coordinator.orphans(of_other)).value(), of_other);

  log_.set_outage(Error{ErrorCode::kUnavailable, "failing over"});
  EXPECT_EQ(run(coordinator.deletable_objects(later, 10)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(run(coordinator.orphans(of_other)).error().code, ErrorCode::kUnavailable);
  // What is empty anyway needs no log.
  EXPECT_EQ(run(coordinator.orphans(orphan)).value(), std::vector<ObjectId>());
  log_.set_outage(std::nullopt);
  ASSERT_TRUE(run(coordinator.catch_up()));

  // Another history, as long as this one, and nothing tells of it.
  const auto missing = static_cast<std::size_t>(coordinator.applied()) - backup.entries.size();
  for (std::size_t i = 0; i < missing; ++i) backup.entries.push_back(Slice::copy_of("another"));
  log_.restore(backup);
  EXPECT_EQ(run(coordinator.deletable_objects(later, 10)).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(run(coordinator.orphans(of_other)).error().code, ErrorCode::kCorrupt);
}

TEST_F(LogCoordinatorTest, StartsWithoutTheLogAndRecovers) {
  log_.set_outage(Error{ErrorCode::kUnavailable, "not yet"});
  LogCoordinator& coordinator = make();
  coordinator.start();
  run_for(seconds(3));
  EXPECT_EQ(coordinator.status().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(run(coordinator.submit(Heartbeat{})).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(run(coordinator.catch_up()).error().code, ErrorCode::kUnavailable);
  log_.set_outage(std::nullopt);
  EXPECT_TRUE(run(coordinator.wait_registered()));
  EXPECT_TRUE(run(coordinator.submit(Heartbeat{})));
}

TEST_F(LogCoordinatorTest, ALogOfANewerVersionStopsTheBroker) {
  LogCoordinator& coordinator = start();
  std::vector<std::byte> unknown = {std::byte{120}, std::byte{0}, std::byte{0}};
  ASSERT_TRUE(run(log_.append(encode_record({.broker = 9}, 1, unknown), 0)));
  run_until([&] { return !coordinator.status(); });
  EXPECT_EQ(coordinator.status().error().code, ErrorCode::kInvalid);
  EXPECT_NE(coordinator.status().error().message.find("newer"), std::string::npos);
  EXPECT_FALSE(may_start_anew(run(coordinator.failed())));
}

TEST_F(LogCoordinatorTest, ListenersHearOfACommitBeforeItsSubmitter) {
  struct Listener final : CommitListener {
    void on_partitions_advanced(std::span<const TopicPartition> advanced) override {
      partitions.assign(advanced.begin(), advanced.end());
      high_watermark = coordinator->image()->topic("orders")->partition(0)->view().high_watermark;
    }
    Coordinator* coordinator = nullptr;
    std::vector<TopicPartition> partitions;
    Offset high_watermark = -1;
  } listener;
  LogCoordinator& coordinator = make();
  listener.coordinator = &coordinator;
  coordinator.add_listener(listener);
  coordinator.start();
  ASSERT_TRUE(run(coordinator.wait_registered()));
  TopicId topic = create(coordinator, "orders");
  ASSERT_TRUE(run(coordinator.submit(commit(coordinator, topic))));
  EXPECT_EQ(listener.partitions, (std::vector<TopicPartition>{{topic, 0}}));
  EXPECT_EQ(listener.high_watermark, 1);
  run(coordinator.stop());  // the listener outlives it
}

TEST_F(LogCoordinatorTest, StopSettlesWhatWaitsAndLeavesTheCluster) {
  LogCoordinator& one = start(1);
  LogCoordinator& two = start(2);
  log_.set_delays({.before = milliseconds(50)});
  auto in_flight = begin(one.submit(AllocateProducerIds{}));
  run_for(milliseconds(5));
  auto queued = begin(one.submit(AllocateProducerIds{}));
  poll();
  auto stop = begin([](LogCoordinator& c) -> Task<bool> {
    co_await c.stop();
    co_return true;
  }(one));
  poll();
  EXPECT_EQ(run(one.submit(Heartbeat{})).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(finish(in_flight)->value, 0);
  EXPECT_EQ(finish(queued)->value, 1000);
  EXPECT_TRUE(finish(stop));
  EXPECT_EQ(run(one.catch_up()).error().code, ErrorCode::kCancelled);
  run_until([&] { return !two.image()->brokers.contains(1); });
  log_.set_delays({});
}

TEST_F(LogCoordinatorTest, StopDoesNotWaitForALogThatIsDown) {
  LogCoordinator& coordinator = start();
  log_.set_outage(Error{ErrorCode::kUnavailable, "cable cut"});
  auto doubtful = begin(coordinator.submit(Heartbeat{}));
  run_for(milliseconds(100));
  MonoTime before = clock_.now();
  run(coordinator.stop());
  EXPECT_LT(clock_.now() - before, seconds(3));
  EXPECT_EQ(finish(doubtful).error().code, ErrorCode::kCancelled);
}

TEST_F(LogCoordinatorTest, BeforeAStopALogThatIsDownHoldsNoCommandUp) {
  LogCoordinator& coordinator = start();
  log_.fail_append(1, MemoryLog::Effect::kNone);
  auto pending = begin(coordinator.submit(Heartbeat{}));
  run_for(milliseconds(1));
  log_.set_outage(Error{ErrorCode::kUnavailable, "down"});
  run_for(seconds(60));
  EXPECT_FALSE(pending.done());  // its outcome is not known
  coordinator.hurry();
  run_for(seconds(6));
  ASSERT_TRUE(pending.done());
  EXPECT_EQ(pending->error().code, ErrorCode::kCancelled);
}

TEST_F(LogCoordinatorTest, ARestartedBrokerHasTheSameStateAndANewEpoch) {
  LogCoordinator& before = start();
  TopicId topic = create(before, "orders");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(run(before.submit(commit(before, topic))));
  BrokerEpoch old = before.broker_epoch();
  run(before.stop());
  LogCoordinator& after = start();
  EXPECT_GT(after.broker_epoch(), old);
  EXPECT_EQ(high_watermark(after, topic), 10);
  EXPECT_EQ(run(after.submit(commit(after, topic)))->batches.at(0).base_offset, 10);
}

}  // namespace
}  // namespace weir::metadata

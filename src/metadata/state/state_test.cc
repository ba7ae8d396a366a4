// What holds for whole records: epochs, repetition, history, time.
#include "metadata/state/state.h"

#include "metadata/state/test_log.h"

#include <gtest/gtest.h>

namespace weir::metadata {
namespace {

using kafka::KafkaError;
using Outcome = Applied::Outcome;

TEST(State, TheFirstClusterIdStays) {
  TestLog log;
  log.apply(ClusterCreated{.cluster_id = Uuid{9, 9}});
  EXPECT_EQ(log.readers.image()->cluster_id, (Uuid{1, 2}));
}

TEST(State, ARegistrationGetsItsPositionAsEpoch) {
  TestLog log;
  RecordHeader header = log.header(5);
  EXPECT_EQ(header.epoch, 3);  // after ClusterCreated and broker 1
  auto image = log.readers.image();
  ASSERT_TRUE(image->brokers.contains(5));
  EXPECT_EQ(image->brokers.at(5).epoch, 3);
  EXPECT_EQ(image->brokers.at(5).endpoints.at(0).port, 9092);
}

TEST(State, RegisteringAgainFencesTheEpochBefore) {
  TestLog log;
  RecordHeader old = log.header(1);
  RegisterBroker again{.broker_id = 1, .incarnation = Uuid{7, 7}};
  auto applied = log.append_raw({.broker = 1}, {again});
  BrokerEpoch epoch = applied->results.at(0).value;
  EXPECT_GT(epoch, old.epoch);
  EXPECT_EQ(log.append_raw(old, {Heartbeat{}})->outcome, Outcome::kFenced);
  EXPECT_EQ(log.append_raw({.broker = 1, .epoch = epoch}, {Heartbeat{}})->outcome,
            Outcome::kApplied);
}

TEST(State, TheSameIncarnationKeepsItsEpoch) {
  TestLog log;
  RegisterBroker command{.broker_id = 3, .incarnation = Uuid{7, 7}};
  auto first = log.append_raw({.broker = 3}, {command});
  auto second = log.append_raw({.broker = 3}, {command});
  EXPECT_EQ(second->results.at(0).value, first->results.at(0).value);
  // Even after it was fenced: it is the old registration, not a new one.
  log.apply(FenceBroker{.broker_id = 3, .epoch = first->results.at(0).value});
  auto third = log.append_raw({.broker = 3}, {command});
  EXPECT_EQ(third->results.at(0).value, first->results.at(0).value);
  EXPECT_FALSE(log.readers.image()->brokers.contains(3));
}

// Late, or repeated by somebody who saw it: it would replace the process that is there now.
TEST(State, ARegistrationWhoseWriterDidNotKnowTheLatestHasNoEffect) {
  TestLog log;
  RegisterBroker first{.broker_id = 3, .incarnation = Uuid{7, 7}};
  ASSERT_TRUE(log.append_raw({.broker = 3}, {first}));
  const LogEntry early = log.entries.back();
  RegisterBroker second{.broker_id = 3, .incarnation = Uuid{8, 8}};
  const BrokerEpoch epoch = log.append_raw({.broker = 3}, {second})->results.at(0).value;
  const auto repeated = log.state.apply({log.state.position() + 1, early.bytes});
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->outcome, Outcome::kApplied);
  EXPECT_EQ(repeated->results.at(0).error, KafkaError::kStaleBrokerEpoch);
  const BrokerState& broker = log.state.tables().brokers.at(3);
  EXPECT_EQ(broker.image.epoch, epoch);
  EXPECT_EQ(broker.image.incarnation, second.incarnation);
  // Nor after the latest was fenced.
  log.apply(FenceBroker{.broker_id = 3, .epoch = epoch});
  ASSERT_TRUE(log.state.apply({log.state.position() + 1, early.bytes}));
  EXPECT_TRUE(log.state.tables().brokers.at(3).fenced);
}

TEST(State, WhatCountsOnceIsOfARegisteredBrokerOrARegistration) {
  TestLog log;
  EXPECT_FALSE(counts_once(log.entries.front().bytes));  // creates the cluster
  EXPECT_TRUE(counts_once(log.entries.back().bytes));    // registers broker 1
  ASSERT_TRUE(log.append_raw({.broker = 2}, {RegisterBroker{.broker_id = 2},
                                             SetFeatureLevel{.feature = "other", .level = 2}}));
  EXPECT_FALSE(counts_once(log.entries.back().bytes));
  log.apply(SetFeatureLevel{.feature = "other", .level = 3});
  EXPECT_TRUE(counts_once(log.entries.back().bytes));
  EXPECT_FALSE(counts_once(Slice::copy_of("no record")));
}

TEST(State, EveryChangeOfTheLiveBrokersIsCounted) {
  State empty;
  EXPECT_EQ(empty.tables().membership, -1);
  TestLog log;
  auto membership = [&] { return log.state.tables().membership; };
  BrokerEpoch first = log.epoch(1);
  EXPECT_EQ(membership(), 0);
  RegisterBroker second{.broker_id = 2, .incarnation = Uuid{7, 7}};
  BrokerEpoch epoch = log.append_raw({.broker = 2}, {second})->results.at(0).value;
  EXPECT_EQ(membership(), 1);
  // The same registration again, and what is no registration.
  ASSERT_TRUE(log.append_raw({.broker = 2}, {second}));
  log.apply(FenceBroker{.broker_id = 2, .epoch = epoch + 1});
  log.create_topic("orders");
  EXPECT_EQ(membership(), 1);
  log.apply(FenceBroker{.broker_id = 2, .epoch = epoch});
  EXPECT_EQ(membership(), 2);
  EXPECT_EQ(log.apply(FenceBroker{.broker_id = 2, .epoch = epoch}).error, KafkaError::kNone);
  EXPECT_EQ(membership(), 2);
  ASSERT_TRUE(
      log.append_raw({.broker = 2}, {RegisterBroker{.broker_id = 2, .incarnation = Uuid{8, 8}}}));
  EXPECT_EQ(membership(), 3);
  EXPECT_EQ(log.readers.image()->membership, 3);
  EXPECT_EQ(log.epoch(1), first);
}

TEST(State, AFencedEpochHasNoEffect) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  RecordHeader header = log.header(2);
  log.apply(FenceBroker{.broker_id = 2, .epoch = header.epoch});
  EXPECT_FALSE(log.readers.image()->brokers.contains(2));
  auto late = log.append_raw(header, {ObjectBuilder(1).run(topic).batch(5)});
  EXPECT_EQ(late->outcome, Outcome::kFenced);
  EXPECT_TRUE(late->results.empty());
  EXPECT_EQ(log.view(topic).high_watermark, 0);
}

TEST(State, AnUnknownEpochHasNoEffect) {
  TestLog log;
  EXPECT_EQ(log.append_raw({.broker = 1, .epoch = 77}, {AllocateProducerIds{}})->outcome,
            Outcome::kFenced);
  EXPECT_EQ(log.append_raw({.broker = 66, .epoch = 1}, {AllocateProducerIds{}})->outcome,
            Outcome::kFenced);
  EXPECT_EQ(log.apply(AllocateProducerIds{}).value, 0);
}

TEST(State, FencingSparesABrokerThatShowedLife) {
  TestLog log;
  BrokerEpoch epoch = log.header(2).epoch;
  log.append({Heartbeat{}}, 2);
  Position seen = log.state.position();
  log.append({Heartbeat{}}, 2);
  EXPECT_EQ(log.apply(FenceBroker{.broker_id = 2, .epoch = epoch, .last_seen = seen}).error,
            KafkaError::kStaleBrokerEpoch);
  EXPECT_TRUE(log.readers.image()->brokers.contains(2));
  seen = log.state.tables().brokers.at(2).last_position;
  EXPECT_EQ(log.apply(FenceBroker{.broker_id = 2, .epoch = epoch + 1, .last_seen = seen}).error,
            KafkaError::kStaleBrokerEpoch);
  EXPECT_EQ(log.apply(FenceBroker{.broker_id = 2, .epoch = epoch, .last_seen = seen}).error,
            KafkaError::kNone);
  EXPECT_FALSE(log.readers.image()->brokers.contains(2));
  EXPECT_EQ(log.apply(FenceBroker{.broker_id = 99, .epoch = 1}).error,
            KafkaError::kBrokerIdNotRegistered);
}

TEST(State, ARepeatedRecordIsSkippedAsAWhole) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  RecordHeader header = log.header(1);
  Command commit = ObjectBuilder(1).run(topic).batch(5);
  EXPECT_EQ(log.append_raw(header, {commit, AllocateProducerIds{}})
                ->results.at(0)
                .batches.at(0)
                .base_offset,
            0);
  EXPECT_EQ(log.append_raw(header, {commit, AllocateProducerIds{}})->outcome, Outcome::kRepeated);
  EXPECT_EQ(log.view(topic).high_watermark, 5);
  EXPECT_EQ(log.apply(AllocateProducerIds{}).value, 1000);
}

TEST(State, BeforeItsRegistrationABrokerMayOnlyRegister) {
  TestLog log;
  auto applied = log.append_raw({.broker = 1}, {AllocateProducerIds{}});
  EXPECT_EQ(applied->results.at(0).error, KafkaError::kStaleBrokerEpoch);
  EXPECT_EQ(log.apply(AllocateProducerIds{}).value, 0);
}

TEST(State, TimeDoesNotGoBackForAClockThatIsALittleBehind) {
  TestLog log;
  TopicId topic = log.create_topic("stamped");
  log.now += 10'000;
  EXPECT_EQ(
      log.apply(ObjectBuilder(1).run(topic).batch(1).log_append_time()).batches.at(0).append_time,
      TestLog::kStart + 10'000);
  log.now -= 5'000;  // another broker's clock is behind
  EXPECT_EQ(log.append({ObjectBuilder({log.epoch(2), 1}).run(topic).batch(1).log_append_time()}, 2)
                .at(0)
                .batches.at(0)
                .append_time,
            TestLog::kStart + 10'000);
}

TEST(State, AClockThatIsFarAheadSetsTheTimeOfItsOwnEntriesOnly) {
  TestLog log;
  const TopicId topic = log.create_topic("stamped");
  const TimestampMs years = 315'360'000'000;
  std::int64_t object = 0;
  const auto stamp = [&](BrokerId broker) {
    return log
        .append(
            {ObjectBuilder({log.epoch(broker), ++object}).run(topic).batch(1).log_append_time()},
            broker)
        .at(0)
        .batches.at(0)
        .append_time;
  };
  EXPECT_EQ(stamp(1), TestLog::kStart);
  log.now += years;
  EXPECT_EQ(stamp(2), TestLog::kStart + years);
  log.now -= years;
  EXPECT_EQ(stamp(1), TestLog::kStart);
  log.now -= years;
  EXPECT_EQ(stamp(2), TestLog::kStart - years);
  log.now += years + 5;
  EXPECT_EQ(stamp(1), TestLog::kStart + 5);
  EXPECT_EQ(log.state.tables().time, TestLog::kStart + 5);
}

TEST(State, WhatHasNoEffectDoesNotMoveTheTime) {
  TestLog log;
  const RecordHeader writer = log.header(1);
  RecordHeader fenced = writer;
  fenced.epoch += 1000;
  log.now += 5000;
  EXPECT_EQ(log.append_raw(fenced, {Heartbeat{}})->outcome, Applied::Outcome::kFenced);
  EXPECT_EQ(log.state.tables().time, TestLog::kStart);
  EXPECT_EQ(log.append_raw(writer, {Heartbeat{}})->outcome, Applied::Outcome::kApplied);
  EXPECT_EQ(log.state.tables().time, TestLog::kStart + 5000);
  log.now += 5000;
  EXPECT_EQ(log.append_raw(writer, {Heartbeat{}})->outcome, Applied::Outcome::kRepeated);
  EXPECT_EQ(log.state.tables().time, TestLog::kStart + 5000);
}

TEST(State, AnotherHistoryIsFound) {
  TestLog log;
  RecordHeader header = log.header(1);
  log.apply(Heartbeat{});
  // A record of a writer that saw another entry 3.
  header.sequence = 10;
  header.time = log.now;
  header.known = 3;
  header.known_hash = *log.state.chain().at(3) + 1;
  auto encoded = encode_command(Heartbeat{});
  Position before = log.state.position();
  auto applied = log.state.apply({before + 1, encode_record(header, 1, *encoded)});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(applied.error().message.find("diverged at or before position 3"), std::string::npos)
      << applied.error().message;
  EXPECT_EQ(log.state.position(), before);
  header.known_hash -= 1;
  EXPECT_TRUE(log.state.apply({before + 1, encode_record(header, 1, *encoded)}));
}

// A broker under which the log was restored appends once more before it notices: the log stays one
// that can be read.
TEST(State, ARecordOfAWriterThatKnewWhatIsNotBeforeItHasNoEffect) {
  for (const Position ahead : {1, 2}) {
    TestLog log;
    const auto before = log.state.hash();
    auto encoded = encode_command(AllocateProducerIds{});
    RecordHeader header = log.header(1);
    const Position position = log.state.position() + 1;
    header.time = log.now + 5000;
    header.known = position + ahead - 1;
    auto applied = log.state.apply({position, encode_record(header, 1, *encoded)});
    ASSERT_TRUE(applied);
    EXPECT_EQ(applied->outcome, Outcome::kForeign);
    EXPECT_TRUE(applied->results.empty());
    EXPECT_EQ(log.state.position(), position);
    EXPECT_EQ(log.state.hash(), before);
    // The same sequence with what the log has is another record.
    EXPECT_EQ(log.append_raw(log.header(1), {AllocateProducerIds{}})->outcome, Outcome::kApplied);
  }
}

TEST(State, EntriesComeInOrder) {
  TestLog log;
  auto encoded = encode_command(Heartbeat{});
  Slice record = encode_record(log.header(1), 1, *encoded);
  EXPECT_EQ(log.state.apply({log.state.position(), record}).error().code, ErrorCode::kInternal);
  EXPECT_EQ(log.state.apply({log.state.position() + 2, record}).error().code, ErrorCode::kInternal);
}

TEST(State, ANewerCommandStopsWithoutEffect) {
  TestLog log;
  RecordHeader header = log.header(1);
  auto allocate = encode_command(AllocateProducerIds{});
  std::vector<std::byte> body = *allocate;
  for (int byte : {120, 0, 0})
    body.push_back(static_cast<std::byte>(byte));  // type 120, version 0, no body
  auto applied = log.state.apply({log.state.position() + 1, encode_record(header, 2, body)});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, ErrorCode::kInvalid);
  EXPECT_NE(applied.error().message.find("type 120 was written by a newer Weir"),
            std::string::npos);
  body = *allocate;
  body[1] = std::byte{1};  // version 1
  applied = log.state.apply({log.state.position() + 1, encode_record(header, 1, body)});
  EXPECT_EQ(applied.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(log.state.tables().next_producer_id, 0);
}

TEST(State, DamagedRecordsAreRefused) {
  TestLog log;
  TopicId topic = log.create_topic("orders");
  log.apply(ObjectBuilder(1).run(topic).batch(5));
  Slice good = log.entries.back().bytes;
  for (std::size_t size = 0; size < good.size(); ++size) {
    auto applied = log.state.apply({log.state.position() + 1, good.sub(0, size)});
    ASSERT_FALSE(applied) << size;
    EXPECT_EQ(applied.error().code, ErrorCode::kCorrupt) << size;
  }
}

TEST(HashChain, DependsOnEveryEntryAndForgetsOldOnes) {
  HashChain a;
  HashChain b;
  a.add(as_bytes("x"));
  b.add(as_bytes("y"));
  a.add(as_bytes("z"));
  b.add(as_bytes("z"));
  EXPECT_NE(a.hash(), b.hash());
  EXPECT_EQ(a.at(2), a.hash());
  EXPECT_EQ(a.at(0), 0U);
  EXPECT_FALSE(a.at(3));
  std::uint64_t at_two = a.hash();
  for (std::size_t i = 0; i < HashChain::kWindow - 1; ++i) a.add(as_bytes("e"));
  EXPECT_EQ(a.at(2), at_two);
  a.add(as_bytes("e"));
  EXPECT_FALSE(a.at(2));
  HashChain later(100, 5);
  EXPECT_EQ(later.at(100), 5U);
  EXPECT_FALSE(later.at(99));
}

TEST(Record, JsonNamesCommands) {
  TestLog log;
  log.apply(AllocateProducerIds{.count = 5});
  auto json = record_to_json(log.entries.back());
  ASSERT_TRUE(json);
  EXPECT_NE(
      json->find(
          R"({"position":3,"broker":1,"epoch":2,"sequence":0,"time":1700000000000,"known":2,)"),
      std::string::npos)
      << *json;
  EXPECT_NE(json->find(R"("commands":[{"type":"AllocateProducerIds","command":{"count":5}}])"),
            std::string::npos)
      << *json;
}

TEST(StateTest, ALevelThatWasAgreedOnKeepsOutWhoKnowsLess) {
  TestLog log;  // broker 1 knows level 0
  const std::string level(kMetadataFeature);
  EXPECT_EQ(log.apply(SetFeatureLevel{.feature = level, .level = 2}).error,
            KafkaError::kFeatureUpdateFailed);
  const auto join = [&](BrokerId id, std::int16_t knows) {
    return log
        .append_raw({.broker = id}, {RegisterBroker{.broker_id = id,
                                                    .incarnation = Uuid{9, log.entries.size()},
                                                    .metadata_level = knows}})
        ->results.at(0)
        .error;
  };
  EXPECT_EQ(join(1, 3), KafkaError::kNone);
  EXPECT_EQ(join(2, 2), KafkaError::kNone);
  const auto set = [&](std::int16_t to) {
    return log.append_raw({.broker = 1}, {SetFeatureLevel{.feature = level, .level = to}})
        ->results.at(0)
        .error;
  };
  EXPECT_EQ(set(3), KafkaError::kFeatureUpdateFailed);
  EXPECT_EQ(set(2), KafkaError::kNone);
  EXPECT_EQ(set(1), KafkaError::kNone);  // that holds already
  EXPECT_EQ(log.state.tables().metadata_level(), 2);
  EXPECT_EQ(join(3, 1), KafkaError::kUnsupportedVersion);
  EXPECT_FALSE(log.state.tables().brokers.contains(3));
  EXPECT_EQ(join(2, 1), KafkaError::kUnsupportedVersion);
  EXPECT_EQ(log.state.tables().brokers.at(2).image.metadata_level, 2);
}

TEST(StateTest, OnlyWhatItTakesToAgreeIsWrittenBeforeALevelIsAgreedOn) {
  EXPECT_TRUE(encode_command(ClusterCreated{}, 0));
  EXPECT_TRUE(encode_command(RegisterBroker{}, 0));
  EXPECT_TRUE(encode_command(SetFeatureLevel{}, 0));
  EXPECT_EQ(encode_command(Heartbeat{}, 0).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(encode_command(Heartbeat{}, 1));
}

}  // namespace
}  // namespace weir::metadata

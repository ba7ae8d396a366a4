#include "metadata/state/snapshot_codec.h"

#include "metadata/state/snapshot_parts.h"
#include "metadata/state/test_log.h"
#include "runtime/rng.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::metadata {
namespace {

using Encoded = std::map<std::string, std::vector<std::byte>>;

std::shared_ptr<const FrozenState> frozen(const State& state) {
  return std::make_shared<const FrozenState>(freeze(state));
}

Encoded encode(const State& state) {
  Encoded out;
  for (const SnapshotPart& part : plan_snapshot(frozen(state))) {
    Slice bytes = part.encode();
    out[part.name] = {bytes.bytes().begin(), bytes.bytes().end()};
  }
  return out;
}

Result<State> load(const Encoded& parts) {
  std::vector<DecodedPart> decoded;
  for (const auto& [name, bytes] : parts) {
    WEIR_TRY(DecodedPart part, decode_part(Slice::copy_of(bytes)));
    decoded.push_back(std::move(part));
  }
  return assemble(std::move(decoded));
}

// Everything that a snapshot can hold.
void fill(TestLog& log) {
  TopicId orders = log.create_topic(
      "orders", 5, {{"retention.ms", "9"}, {"message.timestamp.type", "LogAppendTime"}});
  TopicId other = log.create_topic("other");
  for (int i = 0; i < 20; ++i) {
    log.now += 100;
    log.apply(ObjectBuilder(i)
                  .run(orders, i % 5)
                  .batch(3, 7, 0, i / 5 * 3)
                  .log_append_time()
                  .run(other)
                  .batch(1, -1)
                  .batch(2, 5));
  }
  log.append({ObjectBuilder({log.epoch(2), 7}).run(other).batch(2, 9, 4, 2147483646)}, 2);
  TrimLogs trim;
  trim.trims = {{.topic = other, .log_start = 10},
                {.topic = orders, .partition = 1, .log_start = -1}};
  log.apply(trim);
  log.apply(AllocateProducerIds{});
  log.apply(SetFeatureLevel{.feature = "f", .level = 3});
  log.apply(AlterConfigs{.type = ConfigResourceType::kBroker, .sets = {{"a", "b"}}});
  Position claim = log.apply(GroupClaim{.group = "g"}).value;
  GroupCommit commit{.group = "g",
                     .claim = claim,
                     .protocol_type = "consumer",
                     .generation = 4,
                     .protocol = "range",
                     .leader = "m"};
  GroupMember member;
  member.id = "m";
  member.instance_id = "i";
  member.subscription.assign(5, std::byte{1});
  commit.members.push_back(member);
  log.apply(commit);
  OffsetCommit offsets{.group = "g", .claim = claim};
  offsets.entries.push_back({.topic = other,
                             .offset = 5,
                             .leader_epoch = 1,
                             .commit_time = 2,
                             .expire_time = 3,
                             .metadata = "x"});
  log.apply(offsets);
  log.apply(GroupClaim{.group = "empty"});
  log.apply(FenceBroker{.broker_id = 2, .epoch = log.epoch(2)});
}

// A million extents would take too long here: partitions with a few runs.
void commit_many(TestLog& log, const TopicId& topic, int count) {
  static std::int64_t object = 1'000'000;
  for (int i = 0; i < count; ++i) log.apply(ObjectBuilder(object++).run(topic).batch(1));
}

TEST(Snapshot, HoldsEverything) {
  TestLog log;
  fill(log);
  auto state = load(encode(log.state));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->hash(), log.state.hash());
  EXPECT_EQ(state->position(), log.state.position());
  EXPECT_EQ(state->chain().hash(), log.state.chain().hash());
  // What readers see, in full.
  PublishedState readers;
  state->publish_all(readers);
  auto image = readers.image();
  EXPECT_EQ(image->cluster_id, (Uuid{1, 2}));
  EXPECT_EQ(image->topic("orders")->configs.at("retention.ms"), "9");
  EXPECT_EQ(image->brokers.size(), 1U);
  EXPECT_EQ(image->brokers.at(1).endpoints.at(0).host, "127.0.0.1");
  PartitionView view = image->topic("other")->partition(0)->view();
  PartitionView expected = log.view(topic_id("other"));
  EXPECT_EQ(view.log_start, 10);
  EXPECT_EQ(view.high_watermark, expected.high_watermark);
  EXPECT_EQ(view.live_bytes, expected.live_bytes);
  ASSERT_EQ(view.extents.size(), expected.extents.size());
  for (std::size_t i = 0; i < view.extents.size(); ++i)
    EXPECT_EQ(view.extents[i], expected.extents[i]);
  auto group = readers.group("g");
  EXPECT_EQ(*group->members, *log.readers.group("g")->members);
  EXPECT_EQ(group->leader, "m");
  EXPECT_EQ(*group->offsets.find(TopicPartition{topic_id("other"), 0}),
            *log.readers.group("g")->offsets.find(TopicPartition{topic_id("other"), 0}));
  EXPECT_EQ(readers.group_ids(), (std::vector<std::string>{"empty", "g"}));
  EXPECT_EQ(state->tables().objects.deletable(log.state.position(), 100).size(),
            log.state.tables().objects.deletable(log.state.position(), 100).size());
}

TEST(Snapshot, OfAnEmptyStateLoads) {
  State empty;
  auto state = load(encode(empty));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->hash(), empty.hash());
}

TEST(Snapshot, TheLoadedStateGoesOnAsTheFirstOne) {
  TestLog log;
  fill(log);
  auto state = load(encode(log.state));
  Command commit =
      ObjectBuilder(500).run(topic_id("orders"), 2).batch(3, 7, 0, 9).batch(1, 7, 0, 12);
  auto expected = log.append_raw(log.header(), {commit});
  auto applied = state->apply(log.entries.back());
  EXPECT_EQ(applied->results, expected->results);
  EXPECT_EQ(applied->results.at(0).batches.at(0).base_offset, 9);  // a duplicate is still known
  EXPECT_EQ(state->hash(), log.state.hash());
}

TEST(Snapshot, APictureDoesNotChange) {
  TestLog log;
  fill(log);
  std::uint64_t hash = log.state.hash();
  auto picture = frozen(log.state);
  fill(log);
  DeleteTopics remove;
  remove.topics = {topic_id("orders")};
  log.apply(remove);
  std::vector<DecodedPart> parts;
  for (const SnapshotPart& part : plan_snapshot(picture))
    parts.push_back(decode_part(part.encode()).value());
  auto state = assemble(std::move(parts));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->hash(), hash);
  EXPECT_NE(log.state.hash(), hash);
}

TEST(Snapshot, WholeRunsOfExtentsAreTheirOwnPartsAndNeverChange) {
  TestLog log;
  TopicId topic = log.create_topic("big");
  commit_many(log, topic, 2 * kExtentsPerRun + 5);
  Encoded before = encode(log.state);
  std::string run = fmt::format("extents/{}/0/", topic.to_string());
  ASSERT_TRUE(before.contains(run + "0") && before.contains(run + "1") &&
              !before.contains(run + "2"));
  commit_many(log, topic, 100);
  Encoded after = encode(log.state);
  EXPECT_EQ(after.at(run + "0"), before.at(run + "0"));
  EXPECT_EQ(after.at(run + "1"), before.at(run + "1"));
  EXPECT_EQ(load(after)->hash(), log.state.hash());
  // A run that lost extents is a run no more; the next still is, byte for byte.
  TrimLogs trim;
  trim.trims.push_back({.topic = topic, .log_start = 10});
  log.apply(trim);
  after = encode(log.state);
  EXPECT_FALSE(after.contains(run + "0"));
  EXPECT_EQ(after.at(run + "1"), before.at(run + "1"));
  auto state = load(after);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->hash(), log.state.hash());
  EXPECT_EQ(encode(*state), after);  // the same parts from a state that was loaded
}

TEST(Snapshot, PartsOfPartitionsThatDidNotChangeKeepTheirVersion) {
  TestLog log;
  TopicId quiet = log.create_topic("quiet", 500);
  TopicId busy = log.create_topic("busy");
  ObjectBuilder object(1);
  for (int i = 0; i < 500; ++i) object.run(quiet, i).batch(1, 5, 0, 0);
  log.apply(object);
  auto versions = [&] {
    std::map<std::string, std::uint64_t> out;
    for (const SnapshotPart& part : plan_snapshot(frozen(log.state))) {
      if (part.name.starts_with("partitions/")) out[part.name] = part.version;
    }
    return out;
  };
  auto before = versions();
  EXPECT_GE(before.size(), 4U);
  log.apply(ObjectBuilder(2).run(busy).batch(1));
  auto after = versions();
  std::size_t changed = 0;
  for (const auto& [name, version] : after) changed += before.at(name) != version;
  EXPECT_EQ(changed, 1U);
  log.now += 1000;
  log.apply(ExpireProducers{.expiration_ms = 1000});  // producers are part of it
  changed = 0;
  for (const auto& [name, version] : versions()) changed += after.at(name) != version;
  EXPECT_EQ(changed, after.size());
}

TEST(Snapshot, MissingAndForeignPartsAreFound) {
  TestLog log;
  fill(log);
  TopicId big = log.create_topic("big");
  commit_many(log, big, kExtentsPerRun + 1);
  Encoded good = encode(log.state);
  ASSERT_TRUE(load(good));
  for (const auto& [name, bytes] : good) {
    Encoded without = good;
    without.erase(name);
    auto state = load(without);
    ASSERT_FALSE(state) << name;
    EXPECT_EQ(state.error().code, ErrorCode::kCorrupt) << name;
  }
  log.apply(AllocateProducerIds{});
  log.apply(ObjectBuilder(800).run(big).batch(1));
  Encoded later = encode(log.state);
  for (const auto& [name, bytes] : good) {
    if (later[name] == bytes) continue;
    Encoded mixed = later;
    mixed[name] = bytes;
    EXPECT_FALSE(load(mixed)) << name;
  }
}

TEST(Snapshot, DamagedPartsAreRefused) {
  TestLog log;
  fill(log);
  Rng rng(3);
  for (const auto& [name, bytes] : encode(log.state)) {
    for (std::size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 60) {
      auto part = decode_part(Slice::copy_of(Bytes(bytes).first(size)));
      // A list of objects may end early; then the state is another.
      if (!name.starts_with("objects/")) EXPECT_FALSE(part) << name << " cut to " << size;
    }
    Encoded parts = encode(log.state);
    for (int i = 0; i < 30; ++i) {
      std::vector<std::byte> damaged = bytes;
      damaged[rng.below(damaged.size())] ^= static_cast<std::byte>(1U << rng.below(8));
      parts[name] = damaged;
      EXPECT_FALSE(load(parts)) << name;
    }
  }
}

TEST(Snapshot, ANewerPartIsRefused) {
  std::vector<std::byte> newer{std::byte{1}, std::byte{1}, std::byte{0}};
  EXPECT_EQ(decode_part(Slice::copy_of(newer)).error().code, ErrorCode::kInvalid);
  std::vector<std::byte> unknown{std::byte{99}, std::byte{0}};
  EXPECT_EQ(decode_part(Slice::copy_of(unknown)).error().code, ErrorCode::kInvalid);
}

TEST(StateHash, EveryChangeChangesIt) {
  TestLog log;
  fill(log);
  TopicId other = topic_id("other");
  Position claim = log.readers.group("g")->claim;
  OffsetCommit offsets{.group = "g", .claim = claim};
  offsets.entries.push_back({.topic = other,
                             .offset = 6,
                             .leader_epoch = 1,
                             .commit_time = 2,
                             .expire_time = 3,
                             .metadata = "x"});
  OffsetCommit metadata = offsets;
  metadata.entries[0].metadata = "y";
  TrimLogs trim;
  trim.trims.push_back({.topic = other, .log_start = 11});
  std::vector<Command> commands{
      ObjectBuilder(600).run(other).batch(1),
      ObjectBuilder(601).run(other).batch(1, 33, 0, 0),
      trim,
      offsets,
      metadata,
      OffsetDelete{.group = "g", .claim = claim, .entries = {{.topic = other}}},
      GroupClaim{.group = "g"},
      GroupDelete{.group = "empty", .claim = log.readers.group("empty")->claim},
      AlterConfigs{.name = "other", .sets = {{"k", "v"}}},
      AlterConfigs{.type = ConfigResourceType::kGroup, .name = "g", .sets = {{"k", "v"}}},
      CreatePartitions{.topic = other, .count = 2},
      SetFeatureLevel{.feature = "f", .level = 4},
      AllocateProducerIds{},
      ExpireProducers{.expiration_ms = 0}};
  for (const Command& command : commands) {
    TestLog changed;
    TestLog idle;
    fill(changed);
    fill(idle);
    ASSERT_EQ(changed.state.hash(), idle.state.hash());
    changed.apply(command);
    idle.apply(Heartbeat{});  // the record itself changes what is known of its broker
    EXPECT_NE(changed.state.hash(), idle.state.hash()) << command_name(command);
  }
}

}  // namespace
}  // namespace weir::metadata

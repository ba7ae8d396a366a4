#include "metadata/snapshot_store.h"

#include "metadata/log/memory_log.h"
#include "runtime/test_loop.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace weir::metadata {
namespace {

using storage::StoreCall;
using storage::StoreFault;
using storage::StoreOperation;
using Content = std::map<std::string, std::string>;

class SnapshotStoreTest : public ::testing::Test {
 protected:
  SnapshotStoreTest() {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(run(log_.append(Slice::copy_of("x"), 1000)));
  }

  template <typename T>
  T run(Task<T> task) {
    return run_task(loop_, std::move(task));
  }
  // Every chunk with its bytes, or without where `unchanged` names it.
  static std::vector<ChunkSource> sources(const Content& content,
                                          const std::set<std::string>& unchanged = {}) {
    std::vector<ChunkSource> out;
    for (const auto& [name, bytes] : content) {
      ChunkSource& source = out.emplace_back();
      source.name = name;
      if (!unchanged.contains(name)) source.make = [bytes] { return Slice::copy_of(bytes); };
    }
    return out;
  }
  Result<WrittenSnapshot> write(Position position, const Content& content, Snapshot base = {},
                                const std::set<std::string>& unchanged = {}) {
    return run(snapshots_.write(position, 1, sources(content, unchanged), std::move(base)));
  }
  Snapshot written(Position position, const Content& content, Snapshot base = {}) {
    auto out = write(position, content, std::move(base));
    EXPECT_TRUE(out) << out.error().to_string();
    return out ? out->snapshot : Snapshot();
  }
  // What the latest snapshot holds, or the error.
  Content loaded() {
    auto out = run(snapshots_.load_latest());
    if (!out) return {{"error", out.error().to_string()}};
    Content content;
    for (std::size_t i = 0; i < out->chunks.size(); ++i) {
      content[out->snapshot.manifest.chunks[i].name] = as_text(out->chunks[i].bytes());
    }
    return content;
  }
  // Whose name begins so: the rest depends on its bytes.
  static bool is_manifest(const std::string& key, Position position, BrokerEpoch writer) {
    return key.starts_with(fmt::format("snapshots/{:020}/manifest-", position)) &&
           key.ends_with(fmt::format("-{}", writer));
  }
  std::vector<std::string> keys() {
    std::vector<std::string> out;
    for (const auto& info : run(objects_.list("", "", 1000)).value().objects)
      out.push_back(info.key);
    return out;
  }

  ManualClock clock_;
  boost::asio::io_context loop_;
  storage::MemoryStore objects_{clock_};
  storage::FaultyStore store_{objects_, clock_};
  MemoryLog log_{clock_};
  SnapshotStore snapshots_{store_, log_};
};

TEST_F(SnapshotStoreTest, LoadsWhatWasWritten) {
  EXPECT_EQ(loaded(), Content());
  EXPECT_EQ(run(snapshots_.latest()).value().ref.manifest_key, "");
  Content content = {{"a", "first"}, {"b", ""}, {"c", std::string(100'000, 'c')}};
  for (int i = 0; i < 30; ++i) content["many" + std::to_string(i)] = std::to_string(i);
  auto out = write(7, content);
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_EQ(out->chunks_written, content.size());
  EXPECT_EQ(out->snapshot.ref.position, 7);
  EXPECT_EQ(loaded(), content);
  auto latest = run(snapshots_.latest());
  EXPECT_EQ(latest.value().ref.manifest_key, out->snapshot.ref.manifest_key);
  EXPECT_EQ(latest.value().manifest.chunks.size(), content.size());
}

TEST_F(SnapshotStoreTest, NamesObjectsAsTheFormatSays) {
  const Snapshot snapshot = written(7, {{"a", "abc"}});
  const Slice manifest = run(objects_.get(snapshot.ref.manifest_key)).value();
  const std::string digest = to_hex(sha256(manifest.bytes())).substr(0, 16);
  EXPECT_EQ(keys(),
            (std::vector<std::string>{
                "snapshots/00000000000000000007/"
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",  // of "abc",
                                                                                     // FIPS 180-4
                "snapshots/00000000000000000007/manifest-" + digest + "-1"}));
}

TEST_F(SnapshotStoreTest, WritesOnlyWhatChanged) {
  const Snapshot base = written(10, {{"a", "1"}, {"b", "2"}, {"c", "3"}});
  // a is known to be unchanged, b turns out to be, c changed, d is new.
  const Content content = {{"a", "1"}, {"b", "2"}, {"c", "33"}, {"d", "4444"}};
  auto out = write(20, content, base, {"a"});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_EQ(out->chunks_written, 2U);
  EXPECT_EQ(out->bytes_written, 6U);
  EXPECT_EQ(loaded(), content);
  EXPECT_EQ(keys().size(), 3U + 1 + 2 + 1);
  auto again = write(30, content, out->snapshot, {"a", "b", "c", "d"});
  EXPECT_EQ(again.value().chunks_written, 0U);
  EXPECT_EQ(again.value().snapshot.manifest.chunks[0].written_at, 10);
  EXPECT_EQ(loaded(), content);
}

TEST_F(SnapshotStoreTest, RefusesSourcesThatMakeNoSnapshot) {
  std::vector<ChunkSource> twice = sources({{"a", "1"}});
  twice.push_back(std::move(sources({{"a", "2"}}).front()));
  EXPECT_EQ(run(snapshots_.write(5, 1, std::move(twice), {})).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(write(5, {{"a", "1"}}, {}, {"a"}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(write(5, {{"", "1"}}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(write(101, {{"a", "1"}}).error().code, ErrorCode::kInvalid);  // beyond the log
  EXPECT_EQ(loaded(), Content());
}

TEST_F(SnapshotStoreTest, GivesWayToASnapshotThatIsNotOlder) {
  written(20, {{"a", "1"}});
  const auto calls = store_.calls(StoreOperation::kPut);
  EXPECT_EQ(write(20, {{"a", "2"}}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(write(19, {{"a", "2"}}).error().code, ErrorCode::kConflict);
  EXPECT_EQ(store_.calls(StoreOperation::kPut), calls);
  EXPECT_EQ(loaded(), (Content{{"a", "1"}}));
}

TEST_F(SnapshotStoreTest, LosesToALaterOneRecordedMeanwhile) {
  store_.set_plan([&](const StoreCall& call) {
    if (call.key.find("manifest-") != std::string::npos) {
      EXPECT_TRUE(run_task(log_.record_snapshot({50, "snapshots/of another"})));
    }
    return StoreFault();
  });
  EXPECT_EQ(write(40, {{"a", "1"}}).error().code, ErrorCode::kConflict);
}

TEST_F(SnapshotStoreTest, HasAFewChunksUnderWayAtOnce) {
  Content content;
  for (int i = 0; i < 40; ++i) content["chunk" + std::to_string(i)] = std::to_string(i);
  auto gate = std::make_shared<storage::StoreGate>();
  store_.set_plan([gate](const StoreCall&) { return StoreFault{.hold = gate}; });
  std::optional<Result<WrittenSnapshot>> out;
  boost::asio::co_spawn(
      loop_, snapshots_.write(9, 1, sources(content), {}),
      [&](const std::exception_ptr&, Result<WrittenSnapshot> r) { out = std::move(r); });
  loop_.restart();
  loop_.poll();
  EXPECT_EQ(store_.calls(StoreOperation::kPut), SnapshotStore::kParallel);
  gate->open();
  loop_.restart();
  loop_.poll();
  ASSERT_TRUE(out && *out);
  store_.set_plan(nullptr);
  EXPECT_EQ(loaded(), content);
}

TEST_F(SnapshotStoreTest, FindsDamage) {
  const Snapshot snapshot = written(9, {{"a", "1"}, {"b", "2"}});
  const std::string key = chunk_key(snapshot.manifest.chunks[1]);
  for (const char* damage : {"3", "22", ""}) {
    ASSERT_TRUE(run(objects_.put(key, Chain(Slice::copy_of(damage)), {})));
    auto out = run(snapshots_.load_latest());
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(out.error().message.find(key), std::string::npos) << out.error().message;
  }
  ASSERT_TRUE(
      run(objects_.put(snapshot.ref.manifest_key, Chain(Slice::copy_of("no manifest")), {})));
  auto out = run(snapshots_.latest());
  EXPECT_EQ(out.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(out.error().message.find(snapshot.ref.manifest_key), std::string::npos);
}

TEST_F(SnapshotStoreTest, SaysThatTheLogNamesWhatIsNotThere) {
  ASSERT_TRUE(run(log_.record_snapshot({9, "snapshots/00000000000000000009/manifest-4"})));
  EXPECT_EQ(run(snapshots_.load_latest()).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(run(snapshots_.prune()).error().code, ErrorCode::kNotFound);
}

TEST_F(SnapshotStoreTest, PrunesAllButTheLastTwo) {
  Content content = {{"steady", "s"}, {"a", "0"}};
  Snapshot base;
  for (Position position = 10; position <= 50; position += 10) {
    content["a"] = std::to_string(position);
    base = written(position, content, base);
  }
  // Of others, under way, and beside.
  const std::vector<std::string> alien = {
      "snapshots/00000000000000000060/" + std::string(64, 'a'),
      "snapshots/00000000000000000070/manifest-0123456789abcdef-2", "snapshots/x", "snapshotsx/y",
      "data/1"};
  const SnapshotManifest underway{70, {{.name = "z", .written_at = 70}}};
  for (const std::string& key : alien) {
    ASSERT_TRUE(run(objects_.put(key, Chain(encode_manifest(underway)), {})));
  }
  auto pruned = run(snapshots_.prune());
  ASSERT_TRUE(pruned) << pruned.error().to_string();
  EXPECT_EQ(pruned->manifests, 3U);
  EXPECT_EQ(pruned->chunks, 3U);  // "steady" of position 10 stays
  EXPECT_EQ(loaded(), content);
  EXPECT_EQ(keys().size(), alien.size() + 2 + 1 + 2);
  EXPECT_EQ(run(snapshots_.prune()).value().chunks, 0U);
  // The one before is whole, too.
  const auto all = keys();
  const auto kept =
      std::ranges::find_if(all, [](const std::string& key) { return is_manifest(key, 40, 1); });
  ASSERT_NE(kept, all.end());
  auto before = run(objects_.get(*kept));
  ASSERT_TRUE(before);
  const SnapshotManifest manifest = decode_manifest(before->bytes()).value();
  for (const auto& chunk : manifest.chunks) EXPECT_TRUE(run(objects_.head(chunk_key(chunk))));
}

// The rules of docs/formats/snapshot.md: at whichever call of one broker's write another broker
// records two more snapshots and prunes, the snapshot that the log names can be loaded.
TEST_F(SnapshotStoreTest, AnotherMayPruneAtAnyMomentOfAWrite) {
  int conflicts = 0;
  int successes = 0;
  std::size_t at = 1;
  for (bool reached = true; reached; ++at) {
    storage::MemoryStore objects(clock_);
    storage::FaultyStore slow(objects, clock_);
    MemoryLog log(clock_);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(run(log.append(Slice::copy_of("x"), 1000)));
    SnapshotStore one(slow, log);
    SnapshotStore other(objects, log);
    const Content before = {{"shared", "s"}, {"a", "1"}};
    const Content ours = {{"shared", "s"}, {"a", "2"}, {"b", "3"}};
    const Content theirs = {{"all", "new"}};
    const Snapshot base = run(other.write(10, 2, sources(before), {})).value().snapshot;
    reached = false;
    slow.set_plan([&](const StoreCall& call) {
      if (call.number != at) return StoreFault();
      reached = true;
      for (const Position position : {20, 30}) {
        EXPECT_TRUE(run_task(other.write(position, 2, sources(theirs), {})));
      }
      EXPECT_TRUE(run_task(other.prune()));
      return StoreFault();
    });
    auto out = run(one.write(40, 1, sources(ours, {"shared"}), base));
    if (!out) EXPECT_EQ(out.error().code, ErrorCode::kConflict) << out.error().to_string();
    ++(out ? successes : conflicts);
    EXPECT_TRUE(run(other.prune()));
    auto latest = run(other.load_latest());
    ASSERT_TRUE(latest) << "call " << at << ": " << latest.error().to_string();
    EXPECT_EQ(latest->chunks.size(), out ? ours.size() : theirs.size()) << "call " << at;
  }
  EXPECT_GE(conflicts, 2);
  EXPECT_GE(successes, 1);
}

// The other way round: a whole write at any moment of another's pruning.
TEST_F(SnapshotStoreTest, AnotherMayWriteAtAnyMomentOfAPruning) {
  std::size_t at = 1;
  for (bool reached = true; reached; ++at) {
    storage::MemoryStore objects(clock_);
    storage::FaultyStore slow(objects, clock_);
    MemoryLog log(clock_);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(run(log.append(Slice::copy_of("x"), 1000)));
    SnapshotStore writer(objects, log);
    SnapshotStore pruner(slow, log);
    const Snapshot base = run(writer.write(10, 1, sources({{"shared", "s"}}), {})).value().snapshot;
    for (const Position position : {20, 30}) {
      ASSERT_TRUE(run(writer.write(position, 2, sources({{"all", "new"}}), {})));
    }
    bool wrote = false;
    reached = false;
    slow.set_plan([&](const StoreCall& call) {
      if (call.number != at) return StoreFault();
      reached = true;
      auto out = run_task(writer.write(40, 1, sources({{"shared", "s"}}, {"shared"}), base));
      wrote = out.has_value();
      if (!out) EXPECT_EQ(out.error().code, ErrorCode::kConflict) << out.error().to_string();
      return StoreFault();
    });
    ASSERT_TRUE(run(pruner.prune()));
    auto latest = run(writer.load_latest());
    ASSERT_TRUE(latest) << "call " << at << ": " << latest.error().to_string();
    EXPECT_EQ(latest->snapshot.ref.position, wrote ? 40 : 30);
  }
  EXPECT_GT(at, 4U);
}

// And both: others go on from snapshot to snapshot, and delete those that the pruner has just seen.
TEST_F(SnapshotStoreTest, OthersMayWriteAndPruneAtAnyMomentOfAPruning) {
  std::size_t at = 1;
  for (bool reached = true; reached; ++at) {
    storage::MemoryStore objects(clock_);
    storage::FaultyStore slow(objects, clock_);
    MemoryLog log(clock_);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(run(log.append(Slice::copy_of("x"), 1000)));
    SnapshotStore other(objects, log);
    SnapshotStore pruner(slow, log);
    Snapshot base;
    auto write_next = [&](boost::asio::io_context& loop) {
      const bool is_first = base.ref.manifest_key.empty();
      auto out = run_task(
          loop, other.write(base.ref.position + 10, 1,
                            sources({{"shared", "s"}}, is_first ? std::set<std::string>()
                                                                : std::set<std::string>{"shared"}),
                            base));
      ASSERT_TRUE(out) << out.error().to_string();
      base = out->snapshot;
    };
    for (int i = 0; i < 3; ++i) write_next(loop_);
    reached = false;
    slow.set_plan([&](const StoreCall& call) {
      if (call.number != at) return StoreFault();
      reached = true;
      boost::asio::io_context loop;
      for (int i = 0; i < 2; ++i) {
        write_next(loop);
        EXPECT_TRUE(run_task(loop, other.prune()));
      }
      return StoreFault();
    });
    // Overtaken before it began: the snapshot that it was told of is gone.
    auto pruned = run(pruner.prune());
    if (!pruned) EXPECT_EQ(pruned.error().code, ErrorCode::kNotFound) << pruned.error().to_string();
    auto latest = run(other.load_latest());
    ASSERT_TRUE(latest) << "call " << at << ": " << latest.error().to_string();
    EXPECT_EQ(latest->chunks.size(), 1U);
  }
  EXPECT_GT(at, 4U);
}

// The log was put back while the chunks were written.
TEST_F(SnapshotStoreTest, RecordsNothingThatIsNotConfirmed) {
  const Content content = {{"a", "1"}};
  const Error diverged{ErrorCode::kCorrupt, "diverged"};
  auto refused = run(snapshots_.write(20, 1, sources(content), {}, [&diverged]() -> Task<Status> {
    co_return std::unexpected(diverged);
  }));
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(log_.image().snapshot.position, 0);
  // And while it was being confirmed.
  auto restored = run(
      snapshots_.write(20, 1, sources(content), {}, [image = log_.image(), this]() -> Task<Status> {
        log_.restore(image);
        co_return Status();
      }));
  EXPECT_EQ(restored.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(log_.image().snapshot.position, 0);
}

// A writer that was overtaken and lost its chunks to a pruner is told, so that it does not share
// them with its next one.
TEST_F(SnapshotStoreTest, AnOvertakenWriterHasNoBase) {
  SnapshotStore other(objects_, log_);
  store_.set_plan([&](const StoreCall& call) {
    if (is_manifest(call.key, 20, 1) && call.operation == StoreOperation::kPut) {
      EXPECT_TRUE(run_task(other.write(30, 2, sources({{"all", "new"}}), {})));
      EXPECT_TRUE(run_task(other.prune()));
    }
    return StoreFault();
  });
  EXPECT_EQ(write(20, {{"a", "1"}}).error().code, ErrorCode::kConflict);
  store_.set_plan(nullptr);
  const Snapshot base = run(snapshots_.latest()).value();
  EXPECT_EQ(base.ref.position, 30);
  written(40, {{"a", "1"}}, base);
  EXPECT_EQ(loaded(), (Content{{"a", "1"}}));
}

TEST_F(SnapshotStoreTest, LoadsAnewWhenTheSnapshotIsPrunedMeanwhile) {
  const Content content = {{"a", "1"}, {"b", "2"}};
  written(10, content);
  SnapshotStore other(objects_, log_);
  int gets = 0;
  store_.set_plan([&](const StoreCall& call) {
    if (call.operation == StoreOperation::kGet && ++gets == 2) {
      for (const Position position : {20, 30}) {
        EXPECT_TRUE(run_task(other.write(position, 2, sources({{"all", "new"}}), {})));
      }
      EXPECT_TRUE(run_task(other.prune()));
    }
    return StoreFault();
  });
  EXPECT_EQ(loaded(), (Content{{"all", "new"}}));
}

// One of the latest's own position was never recorded, and shares all its parts (simulator, seed
// 9301).
TEST_F(SnapshotStoreTest, TheOneBeforeIsOfAnEarlierPosition) {
  const Snapshot before = written(10, {{"a", "0"}});
  const Snapshot latest = written(20, {{"a", "1"}});
  const std::string twin = "snapshots/00000000000000000020/manifest-ffffffffffffffff-7";
  ASSERT_NE(twin, latest.ref.manifest_key);
  ASSERT_TRUE(run(objects_.put(twin, Chain(encode_manifest(latest.manifest)), {})));
  EXPECT_EQ(run(snapshots_.prune()).value().manifests, 1U);
  EXPECT_TRUE(run(snapshots_.load(before.ref)));
  EXPECT_EQ(run(objects_.head(twin)).error().code, ErrorCode::kNotFound);
}

// The one right before the latest may be under way, and is deleted by its writer once that finds
// that its base is gone (simulator, seed 5820).
TEST_F(SnapshotStoreTest, NothingGoesWhereTheOneThatIsKnownToBeWholeHasGone) {
  const Content content = {{"a", "0"}};
  const Snapshot gone = written(10, content);
  for (const Position position : {20, 30, 40}) written(position, content);
  ASSERT_EQ(run(snapshots_.prune()).value().manifests, 2U);
  const SnapshotRef latest = written(50, content).ref;
  EXPECT_EQ(run(snapshots_.prune(gone.ref)).value().manifests, 0U);
  const auto older = run(snapshots_.before(latest));
  ASSERT_TRUE(older);
  ASSERT_EQ(older->size(), 2U);
  for (const SnapshotRef& ref : *older) EXPECT_TRUE(run(snapshots_.load(ref)));
  EXPECT_EQ(run(snapshots_.prune(older->front())).value().manifests, 1U);
}

// Whichever call fails, with or without effect: an error, the snapshot before is still whole, and
// the next attempt works.
TEST_F(SnapshotStoreTest, AnyFailingCallIsAnErrorAndNoMore) {
  Snapshot base = written(1, {{"a", "0"}, {"b", "0"}});
  Content content = {{"a", "0"}, {"b", "0"}};
  Position position = 2;
  std::size_t at = 1;
  for (bool failed = true; failed; ++at) {
    for (const bool takes_effect : {false, true}) {
      Content next = {{"a", "0"}, {"b", std::to_string(position)}, {"c", std::to_string(position)}};
      store_.fail_call(at, Error{ErrorCode::kTimeout, "planned"}, takes_effect);
      auto out = write(position, next, base, {"a"});
      auto pruned = out ? run(snapshots_.prune()) : Result<PrunedSnapshots>();
      failed = !out || !pruned;
      store_.set_plan(nullptr);
      EXPECT_EQ(loaded(), out ? next : content) << at;
      if (!out) out = write(position, next, base, {"a"});
      ASSERT_TRUE(out) << at << ": " << out.error().to_string();
      ASSERT_TRUE(run(snapshots_.prune()));
      content = next;
      base = out->snapshot;
      ++position;
    }
  }
  EXPECT_GT(at, 8U);
}

TEST_F(SnapshotStoreTest, AnUnknownOutcomeInTheLogIsSettledByTheNextWrite) {
  const Content content = {{"a", "1"}};
  store_.set_plan([&](const StoreCall& call) {
    if (is_manifest(call.key, 10, 1)) log_.set_outage(Error{ErrorCode::kUnavailable, "down"});
    return StoreFault();
  });
  EXPECT_EQ(write(10, content).error().code, ErrorCode::kUnavailable);
  store_.set_plan(nullptr);
  log_.set_outage(std::nullopt);
  EXPECT_EQ(loaded(), Content());
  written(10, content);
  EXPECT_EQ(loaded(), content);
}

TEST(SnapshotManifest, HasTheDocumentedBytes) {
  SnapshotManifest manifest{0x0102, {{.name = "ab", .written_at = 5, .size = 300}}};
  manifest.chunks[0].digest.fill(std::byte{0xEE});
  const std::string head(
      "\0\0\0\0\0\0\x01\x02\x01\x02"
      "ab\0\0\0\0\0\0\0\x05\xAC\x02",
      22);
  const Slice encoded = encode_manifest(manifest);
  const std::string_view bytes = as_text(encoded.bytes());
  EXPECT_EQ(bytes.substr(0, head.size()), head);
  EXPECT_EQ(bytes.substr(head.size(), 32), std::string(32, '\xEE'));
  EXPECT_EQ(bytes.substr(head.size() + 32, 4), std::string("\x03\x01\0\0", 4));
  EXPECT_EQ(bytes.substr(head.size() + 40), "WEIR-OBJ");
}

TEST(SnapshotManifest, RefusesAnyDamage) {
  SnapshotManifest manifest{
      9, {{.name = "one", .written_at = 5, .size = 300}, {.name = "two", .written_at = 9}}};
  const Slice encoded = encode_manifest(manifest);
  ASSERT_TRUE(decode_manifest(encoded.bytes()));
  std::vector<std::byte> bytes(encoded.bytes().begin(), encoded.bytes().end());
  for (std::byte& byte : bytes) {
    byte ^= std::byte{0x10};
    EXPECT_FALSE(decode_manifest(bytes));
    byte ^= std::byte{0x10};
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_manifest(Bytes(bytes).first(size))) << size;
    EXPECT_FALSE(decode_manifest(Bytes(bytes).last(size))) << size;
  }
}

TEST(SnapshotManifest, RefusesWhatNoWriterWrites) {
  auto code = [](const SnapshotManifest& manifest) {
    auto decoded = decode_manifest(encode_manifest(manifest).bytes());
    return decoded ? ErrorCode::kInternal : decoded.error().code;
  };
  EXPECT_EQ(code({9, {{.name = "a", .written_at = 10}}}), ErrorCode::kCorrupt);
  EXPECT_EQ(code({9, {{.name = "a", .written_at = 0}}}), ErrorCode::kCorrupt);
  EXPECT_EQ(code({0, {}}), ErrorCode::kCorrupt);
  EXPECT_EQ(code({9, {{.name = "", .written_at = 9}}}), ErrorCode::kCorrupt);
  EXPECT_EQ(code({9, {{.name = std::string(1025, 'a'), .written_at = 9}}}), ErrorCode::kCorrupt);
  EXPECT_EQ(code({9, {{.name = "a", .written_at = 9}, {.name = "a", .written_at = 8}}}),
            ErrorCode::kCorrupt);
  EXPECT_EQ(code({9, {}}), ErrorCode::kInternal);  // decodes
}

TEST(SnapshotManifest, KnowsItsKeys) {
  const std::string digest(64, 'a');
  EXPECT_TRUE(parse_snapshot_key("snapshots/00000000000000000012/" + digest));
  EXPECT_EQ(parse_snapshot_key("snapshots/00000000000000000012/" + digest)->position, 12);
  const std::string manifest = "manifest-0123456789abcdef-7";
  EXPECT_TRUE(parse_snapshot_key("snapshots/00000000000000000012/" + manifest)->is_manifest);
  const std::string folder = "snapshots/00000000000000000012/";
  const std::vector<std::string> none = {
      "snapshots/12/" + manifest,
      folder + "manifest-",
      folder + "manifest-7",
      folder + "manifest-0123456789abcdef",
      folder + "manifest-0123456789abcdef-",
      folder + "manifest-0123456789abcdef-x",
      folder + "manifest-0123456789abcdeX-7",
      "snapshots/0000000000000000001x/" + manifest,
      "snapshots/00000000000000000000/" + manifest,
      "snapshots/99999999999999999999/" + manifest,
      "data/00000000000000000012/" + manifest,
      folder + digest + "a",
      folder + std::string(64, 'A'),
      folder,
  };
  for (const std::string& key : none) {
    EXPECT_FALSE(parse_snapshot_key(key)) << key;
  }
}

}  // namespace
}  // namespace weir::metadata

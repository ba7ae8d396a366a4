#include "metadata/store_claim.h"

#include "metadata/log/memory_log.h"
#include "metadata/log/object_log.h"
#include "metadata/snapshot_manifest.h"
#include "metadata/store_marker.h"
#include "runtime/test_loop.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"
#include "storage/wal_object.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace weir::metadata {
namespace {

using storage::StoreCall;
using storage::StoreFault;
using storage::StoreOperation;

constexpr Uuid kOwn{1, 2};
constexpr Uuid kOther{3, 4};

class StoreClaimTest : public ::testing::Test {
 protected:
  template <typename T>
  T run(Task<T> task) {
    return run_task(loop_, std::move(task));
  }
  Result<Uuid> claim(MetadataLog& log) {
    return run(claim_store(log, store_, {.log = "the-log", .store = "the-store"}, rng_));
  }
  Result<Uuid> claim() { return claim(log_); }
  std::string refusal() {
    auto claimed = claim();
    if (claimed) return "none";
    EXPECT_EQ(claimed.error().code, ErrorCode::kConflict);
    return claimed.error().message;
  }
  void expect_refusal(const std::vector<std::string>& words) {
    const auto before = keys();
    const std::string said = refusal();
    for (const std::string& word : words) EXPECT_TRUE(said.contains(word)) << said;
    EXPECT_TRUE(said.contains("the-log")) << said;
    // Nothing was written, nor decided.
    EXPECT_EQ(keys(), before);
  }
  void put(const std::string& key, Slice bytes) {
    ASSERT_TRUE(run(memory_.put(key, Chain(std::move(bytes)), {})));
  }
  void put_marker(const Uuid& cluster) {
    put(std::string(kStoreMarkerKey), encode_store_marker(cluster));
  }
  void put_records(const Uuid& cluster, std::int64_t sequence = 1) {
    put(storage::wal_object_key(7, sequence),
        storage::build_wal_object({cluster, 7, sequence}, {}).body.flatten());
  }
  void use_log(const Uuid& cluster, int entries = 1) {
    ASSERT_EQ(run(log_.cluster_id(cluster)).value(), cluster);
    for (int i = 0; i < entries; ++i) ASSERT_TRUE(run(log_.append(Slice::copy_of("x"), 0)));
  }
  std::vector<std::string> keys() {
    std::vector<std::string> out;
    for (const auto& info : run(memory_.list("", "", 1000)).value().objects)
      out.push_back(info.key);
    return out;
  }
  std::optional<Uuid> marker() {
    auto bytes = run(memory_.get(std::string(kStoreMarkerKey)));
    if (!bytes) return std::nullopt;
    return decode_store_marker(bytes->bytes()).value();
  }

  boost::asio::io_context loop_;
  ManualClock clock_;
  storage::MemoryStore memory_{clock_};
  storage::FaultyStore store_{memory_, clock_};
  MemoryLog log_{clock_};
  Rng rng_{1};
};

TEST(StoreMarker, HasTheBytesOfTheFormat) {
  // "AAAAAAAAAAEAAAAAAAAAAg" is base64url of 16 bytes; the CRC-32C of these letters by another
  // program.
  const Slice bytes = encode_store_marker(kOwn);
  const std::string text(as_text(bytes.bytes()));
  EXPECT_EQ(text.substr(0, 22), "AAAAAAAAAAEAAAAAAAAAAg");
  EXPECT_EQ(text.substr(22, 4), std::string("\x04\x01\0\0", 4));
  EXPECT_EQ(text.substr(26, 4), "\xce\x5f\x38\x8e");
  EXPECT_EQ(text.substr(30), "WEIR-OBJ");
  EXPECT_EQ(decode_store_marker(bytes.bytes()).value(), kOwn);
}

TEST(StoreMarker, AnyChangedBitAndAnyCutIsNoticed) {
  const Slice whole = encode_store_marker(kOwn);
  for (std::size_t at = 0; at < whole.size() * 8; ++at) {
    std::vector<std::byte> bytes(whole.bytes().begin(), whole.bytes().end());
    bytes[at / 8] ^= std::byte{1} << (at % 8);
    EXPECT_FALSE(decode_store_marker(bytes)) << at;
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_store_marker(whole.bytes().first(size))) << size;
  }
}

TEST_F(StoreClaimTest, ANewClusterMarksItsStoreAndFindsItAgain) {
  const Uuid cluster = claim().value();
  EXPECT_EQ(marker(), cluster);
  EXPECT_EQ(run(log_.cluster_id({})).value(), cluster);
  const std::size_t puts = store_.calls(StoreOperation::kPut);
  EXPECT_EQ(claim(), cluster);
  put_records(cluster);
  use_log(cluster);
  EXPECT_EQ(claim(), cluster);
  EXPECT_EQ(store_.calls(StoreOperation::kPut), puts);
}

TEST_F(StoreClaimTest, ANewLogDoesNotTakeAStoreThatHasAnOwner) {
  put_marker(kOther);
  expect_refusal({"new log", "the-store", kOther.to_string(), "an empty store"});
  EXPECT_EQ(run(log_.cluster_id({})).value(), Uuid());
}

TEST_F(StoreClaimTest, TheLogOfAnotherClusterIsRefused) {
  use_log(kOwn);
  put_marker(kOther);
  expect_refusal({"the-store", kOwn.to_string(), kOther.to_string()});
  EXPECT_EQ(marker(), kOther);
}

TEST_F(StoreClaimTest, ANewLogDoesNotTakeObjectsWithoutAMarker) {
  put_records(kOther);
  expect_refusal({"new log", kOther.to_string(), storage::wal_object_key(7, 1)});
}

TEST_F(StoreClaimTest, WhateverABrokerWritesCountsAsSomebodys) {
  for (const char* key : {"data/a36f/0000000007/000000000042", "log/trims/00000000000000000001",
                          "snapshots/00000000000000000001/manifest-1"}) {
    SCOPED_TRACE(key);
    put(key, Slice::copy_of("?"));
    expect_refusal({"new log", "cannot be told", key});
    ASSERT_TRUE(run(memory_.remove({key})));
  }
  // What others keep there, and what a probe left over, is nobody's.
  put("backups/readme.txt", Slice::copy_of("?"));
  put("probe/0123456789abcdef", Slice::copy_of("first"));
  EXPECT_TRUE(claim());
}

TEST_F(StoreClaimTest, AMarkerThatIsGoneIsWrittenAnewWhereRecordsProveTheOwner) {
  use_log(kOwn);
  put("data/0000/what-is-not-ours", Slice::copy_of("?"));
  put(storage::wal_object_key(1, 1), Slice::copy_of("damaged, and listed first or last"));
  put_records(kOwn);
  EXPECT_EQ(claim().value(), kOwn);
  EXPECT_EQ(marker(), kOwn);
}

TEST_F(StoreClaimTest, AMarkerThatIsGoneIsWrittenAnewWhereTheSnapshotProvesTheOwner) {
  use_log(kOwn, 20);
  const std::string key = manifest_key(10, 1, {});
  ASSERT_TRUE(run(log_.record_snapshot({10, key})));
  put(key, encode_manifest({.position = 9, .chunks = {}}));
  expect_refusal({"cannot be told", key});
  put(key, encode_manifest({.position = 10, .chunks = {}}));
  EXPECT_EQ(claim().value(), kOwn);
  EXPECT_EQ(marker(), kOwn);
}

TEST_F(StoreClaimTest, AUsedLogDoesNotTakeAStoreWithoutItsObjects) {
  use_log(kOwn, 3);
  expect_refusal({"the-store", kOwn.to_string(), "3 entries", "nothing"});
  put_records(kOther);
  expect_refusal({"the-store", kOwn.to_string(), kOther.to_string()});
}

TEST_F(StoreClaimTest, ALogThatGotNoEntryYetTakesAnEmptyStore) {
  use_log(kOwn, 0);
  EXPECT_EQ(claim().value(), kOwn);
  EXPECT_EQ(marker(), kOwn);
}

TEST_F(StoreClaimTest, ALogThatWasRestoredKeepsItsStore) {
  const Uuid cluster = claim().value();
  const MemoryLog::Image backup = log_.image();
  use_log(cluster, 10);
  put_records(cluster);
  log_.restore(backup);
  EXPECT_EQ(claim().value(), cluster);
  // Not to one of before the cluster.
  log_.restore({});
  expect_refusal({"new log", cluster.to_string()});
}

TEST_F(StoreClaimTest, ALogThatLostItsIdIsRefused) {
  use_log(kOwn);
  MemoryLog::Image image = log_.image();
  image.cluster_id.reset();
  log_.restore(image);
  put_marker(kOwn);
  expect_refusal({"no cluster id"});
}

TEST_F(StoreClaimTest, AStoreThatRefusesConditionsIsMarkedWithoutThem) {
  bool refused = false;
  store_.set_plan([&](const StoreCall& call) {
    if (call.operation != StoreOperation::kPut || std::exchange(refused, true)) return StoreFault{};
    return StoreFault{.error = Error{ErrorCode::kInvalid, "NotImplemented"}};
  });
  const Uuid cluster = claim().value();
  EXPECT_TRUE(refused);
  EXPECT_EQ(marker(), cluster);
}

TEST_F(StoreClaimTest, OfTwoNewClustersAtTheSameMomentOneGetsTheStore) {
  store_.set_plan([this](const StoreCall& call) {
    if (call.operation == StoreOperation::kPut) {
      EXPECT_TRUE(run_task(
          memory_.put(std::string(kStoreMarkerKey), Chain(encode_store_marker(kOther)), {})));
    }
    return StoreFault{};
  });
  EXPECT_TRUE(refusal().contains(kOther.to_string()));
  EXPECT_EQ(marker(), kOther);
  // The loser's log can still be given another store.
  store_.set_plan({});
  ASSERT_TRUE(run(memory_.remove({std::string(kStoreMarkerKey)})));
  EXPECT_TRUE(claim());
}

// Its marker, its id and its first entries come while this one looks.
TEST_F(StoreClaimTest, BrokersOfOneNewClusterStartTogether) {
  for (const char* moment : {"cluster", "data/", "log/cluster-id", "snapshots/"}) {
    SCOPED_TRACE(moment);
    boost::asio::io_context loop;
    MemoryLog log(clock_);
    bool is_past = false;
    store_.set_plan([&](const StoreCall& call) {
      if (call.key != moment || std::exchange(is_past, true)) return StoreFault{};
      EXPECT_EQ(run_task(log.cluster_id(kOwn)).value(), kOwn);
      EXPECT_TRUE(run_task(
          memory_.put(std::string(kStoreMarkerKey), Chain(encode_store_marker(kOwn)), {})));
      EXPECT_TRUE(run_task(log.append(Slice::copy_of("x"), 0)));
      EXPECT_TRUE(run_task(memory_.put("snapshots/x", Chain(Slice::copy_of("x")), {})));
      // As if the marker had been read before.
      if (call.key != kStoreMarkerKey) return StoreFault{};
      return StoreFault{.error = Error{ErrorCode::kNotFound, "not yet"}};
    });
    EXPECT_EQ(claim(log).value(), kOwn);
    EXPECT_TRUE(is_past);
    store_.set_plan({});
    ASSERT_TRUE(run(memory_.remove(keys())));
  }
}

TEST_F(StoreClaimTest, AnyFailingCallIsNoRefusalAndLeavesNothingWrong) {
  for (std::size_t nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    MemoryLog log(clock_);
    const std::size_t before = store_.calls();
    store_.fail_call(nth, {ErrorCode::kTimeout, "lost"}, true);
    auto claimed = claim(log);
    if (claimed) {
      EXPECT_GT(nth, 4U);
      EXPECT_LT(store_.calls() - before, nth);
      break;
    }
    EXPECT_EQ(claimed.error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(claim(log));
    ASSERT_TRUE(run(memory_.remove(keys())));
  }
}

TEST_F(StoreClaimTest, ADamagedMarkerIsNoRefusal) {
  use_log(kOwn);
  put_records(kOwn);
  put(std::string(kStoreMarkerKey), encode_store_marker(kOwn).sub(1));
  auto claimed = claim();
  EXPECT_EQ(claimed.error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(claimed.error().message.contains("the-store")) << claimed.error().message;
  EXPECT_TRUE(claimed.error().message.contains("delete it")) << claimed.error().message;
}

TEST_F(StoreClaimTest, ALogInTheStoreIsTiedToItToo) {
  const auto open = [this] {
    return ObjectLog::open(store_, "the-log", clock_, loop_.get_executor(), {.probe = false})
        .value();
  };
  const auto log = open();
  const Uuid cluster = claim(*log).value();
  EXPECT_EQ(marker(), cluster);
  ASSERT_TRUE(run(log->append(Slice::copy_of("x"), 0)));
  EXPECT_EQ(claim(*log).value(), cluster);
  // The log itself proves whose the store is.
  ASSERT_TRUE(run(memory_.remove({std::string(kStoreMarkerKey)})));
  EXPECT_EQ(claim(*log).value(), cluster);
  EXPECT_EQ(marker(), cluster);
  // Another cluster's records, and no log yet.
  for (const std::string& key : keys()) {
    if (key.starts_with("log/")) ASSERT_TRUE(run(memory_.remove({key})));
  }
  const auto before = keys();
  const auto fresh = open();
  EXPECT_EQ(claim(*fresh).error().code, ErrorCode::kConflict);
  EXPECT_EQ(keys(), before);
  run(log->stop());
  run(fresh->stop());
}

TEST_F(StoreClaimTest, ReadersAreToldOfAnotherClusterAndWriteNothing) {
  const StoreClaimNames names{.log = "the-log", .store = "the-store"};
  EXPECT_TRUE(run(check_store(log_, store_, names)));
  use_log(kOwn);
  EXPECT_TRUE(run(check_store(log_, store_, names)));
  EXPECT_EQ(keys(), std::vector<std::string>());
  put_marker(kOwn);
  EXPECT_TRUE(run(check_store(log_, store_, names)));
  put_marker(kOther);
  EXPECT_EQ(run(check_store(log_, store_, names)).error().code, ErrorCode::kConflict);
}

TEST_F(StoreClaimTest, WaitsForTheStoreAndSaysWhy) {
  StoreClaim waiting(log_, store_, {.log = "the-log", .store = "the-store"}, clock_, Rng(1));
  EXPECT_EQ(waiting.status().error().code, ErrorCode::kUnavailable);
  store_.set_plan([](const StoreCall&) {
    return StoreFault{.error = Error{ErrorCode::kUnavailable, "the store is down"}};
  });
  TaskGroup group;
  std::optional<Status> ended;
  boost::asio::co_spawn(loop_, waiting.run(group),
                        [&](const std::exception_ptr&, Status status) { ended = status; });
  const auto pass = [this] {
    for (int i = 0; i < 100; ++i) {
      loop_.restart();
      loop_.poll();
      clock_.advance(std::chrono::milliseconds(100));
    }
  };
  pass();
  EXPECT_FALSE(ended);
  EXPECT_EQ(waiting.status().error().message, "the store is down");
  store_.set_plan({});
  pass();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(*ended);
  EXPECT_TRUE(waiting.status());
}

}  // namespace
}  // namespace weir::metadata

#include "cache/object_cache.h"

#include "runtime/rng.h"
#include "runtime/run_on.h"
#include "runtime/task_group.h"
#include "runtime/test_loop.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

namespace weir::cache {
namespace {

using storage::ByteRange;
using storage::StoreCall;
using storage::StoreFault;
using storage::StoreGate;
using storage::StoreOperation;

// Every byte of an object tells which object and where.
std::string body_of(const std::string& key, std::size_t size) {
  std::string body(size, '\0');
  std::size_t seed = std::hash<std::string>{}(key);
  for (std::size_t i = 0; i < size; ++i)
    body[i] = static_cast<char>('a' + (seed + i * 7 + i / 97) % 26);
  return body;
}

std::string text_of(const Result<Chain>& chain) {
  return chain ? std::string(as_text(chain->flatten().bytes())) : chain.error().to_string();
}

class ObjectCacheTest : public testing::Test {
 protected:
  ObjectCache& cache(CacheOptions options = {}) {
    if (!cache_) cache_ = std::make_unique<ObjectCache>(faulty_, registry_, options);
    return *cache_;
  }
  void store(const std::string& key, std::size_t size) {
    ASSERT_TRUE(
        run_task(context_, memory_.put(key, Chain(Slice::copy_of(body_of(key, size))), {})));
  }
  Result<Chain> read(const std::string& key, ByteCount size, ByteRange range) {
    return run_task(context_, cache().read(key, size, range));
  }
  // Starts a read whose answer goes to `answer`.
  void start(const std::string& key, ByteCount size, ByteRange range,
             std::optional<Result<Chain>>& answer) {
    boost::asio::co_spawn(
        context_, cache().read(key, size, range),
        [&answer](const std::exception_ptr&, Result<Chain> got) { answer = std::move(got); });
    poll();
  }
  void poll() {
    context_.restart();
    context_.poll();
  }
  // From now on every get waits until the gate opens.
  std::shared_ptr<StoreGate> hold_gets() {
    auto gate = std::make_shared<StoreGate>();
    faulty_.set_plan([gate](const StoreCall& call) {
      StoreFault fault;
      if (call.operation == StoreOperation::kGet || call.operation == StoreOperation::kGetRange) {
        fault.hold = gate;
      }
      return fault;
    });
    return gate;
  }
  std::size_t gets() const { return faulty_.calls(StoreOperation::kGet); }
  double metric(const std::string& name, const MetricLabels& labels = {}) const {
    for (const MetricFamily& family : registry_.snapshot()) {
      for (const MetricSample& sample : family.samples) {
        if (family.name == name && sample.labels == labels) return sample.value;
      }
    }
    ADD_FAILURE() << "no metric " << name;
    return -1;
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  MetricsRegistry registry_;
  storage::MemoryStore memory_{clock_};
  storage::FaultyStore faulty_{memory_, clock_};
  std::unique_ptr<ObjectCache> cache_;
};

TEST_F(ObjectCacheTest, WhatIsNotTheObjectOfItsKeyIsNeitherGivenNorKept) {
  store("data/1", 100);
  int checks = 0;
  ObjectCache checking(faulty_, registry_, {}, [&](const storage::ObjectKey& key, Bytes object) {
    EXPECT_EQ(as_text(object), body_of("data/1", 100));
    EXPECT_EQ(key, "data/1");
    return ++checks == 1 ? Status(fail(ErrorCode::kCorrupt, "another's")) : Status();
  });
  auto first = run_task(context_, checking.read("data/1", 100, {.from = 10, .count = 5}));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().message, "another's");
  EXPECT_EQ(checking.bytes(), 0U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(text_of(run_task(context_, checking.read("data/1", 100, {.from = 10, .count = 5}))),
              body_of("data/1", 100).substr(10, 5));
  }
  EXPECT_EQ(checks, 2);
}

TEST_F(ObjectCacheTest, AnOwnObjectIsServedFromItsStagedSlices) {
  Slice one = Slice::copy_of("first batch");
  Slice two = Slice::copy_of("second batch");
  Chain body(one);
  body.append(two);
  cache().insert("own", body);
  auto got = read("own", body.size(), {one.size(), two.size()});
  ASSERT_TRUE(got);
  ASSERT_EQ(got->slices().size(), 1U);
  EXPECT_EQ(got->slices()[0].data(), two.data());
  EXPECT_EQ(faulty_.calls(), 0U);
  EXPECT_EQ(metric("weir_cache_reads_total", {{"result", "hit"}}), 1);
}

TEST_F(ObjectCacheTest, AMissLoadsTheWholeObjectOnce) {
  store("k", 1000);
  EXPECT_EQ(text_of(read("k", 1000, {10, 20})), body_of("k", 1000).substr(10, 20));
  EXPECT_EQ(text_of(read("k", 1000, {0, 1000})), body_of("k", 1000));
  EXPECT_EQ(text_of(read("k", 1000, {999, 1})), body_of("k", 1000).substr(999));
  EXPECT_EQ(gets(), 1U);
  EXPECT_EQ(faulty_.calls(), 1U);
  EXPECT_EQ(metric("weir_cache_reads_total", {{"result", "miss"}}), 1);
  EXPECT_EQ(metric("weir_cache_reads_total", {{"result", "hit"}}), 2);
  EXPECT_EQ(metric("weir_cache_objects"), 1);
  EXPECT_EQ(metric("weir_cache_bytes"), static_cast<double>(cache().bytes()));
}

TEST_F(ObjectCacheTest, ReadsThatComeTogetherShareOneLoad) {
  store("k", 1000);
  auto gate = hold_gets();
  std::array<std::optional<Result<Chain>>, 5> answers;
  for (std::size_t i = 0; i < answers.size(); ++i) start("k", 1000, {i * 100, 50}, answers[i]);
  for (const auto& answer : answers) EXPECT_FALSE(answer);
  gate->open();
  poll();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i]);
    EXPECT_EQ(text_of(*answers[i]), body_of("k", 1000).substr(i * 100, 50));
  }
  EXPECT_EQ(gets(), 1U);
  EXPECT_EQ(metric("weir_cache_reads_total", {{"result", "joined"}}), 4);
}

TEST_F(ObjectCacheTest, AFailedLoadReachesAllWaitersAndIsForgotten) {
  store("k", 1000);
  auto gate = std::make_shared<StoreGate>();
  faulty_.set_plan([gate](const StoreCall&) {
    StoreFault fault;
    fault.hold = gate;
    fault.error = Error{ErrorCode::kUnavailable, "the store is down"};
    return fault;
  });
  std::array<std::optional<Result<Chain>>, 3> answers;
  for (auto& answer : answers) start("k", 1000, {0, 10}, answer);
  gate->open();
  poll();
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer);
    EXPECT_EQ(text_of(*answer), "unavailable: the store is down");
  }
  EXPECT_EQ(metric("weir_cache_load_errors_total"), 1);
  EXPECT_EQ(cache().bytes(), 0U);
  faulty_.set_plan({});
  EXPECT_EQ(text_of(read("k", 1000, {0, 10})), body_of("k", 1000).substr(0, 10));
}

TEST_F(ObjectCacheTest, AnObjectOfAnotherSizeIsCorrupt) {
  store("k", 1000);
  auto loaded = read("k", 1001, {0, 10});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(loaded.error().message, "object k has 1000 bytes instead of 1001");
  EXPECT_EQ(cache().bytes(), 0U);
  ASSERT_TRUE(read("k", 1000, {0, 10}));
  auto cached = read("k", 1001, {1000, 1});
  ASSERT_FALSE(cached);
  EXPECT_EQ(cached.error().code, ErrorCode::kCorrupt);
}

TEST_F(ObjectCacheTest, ARangeBeyondTheObjectIsInvalid) {
  store("k", 10);
  EXPECT_EQ(read("k", 10, {5, 6}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read("k", 10, {11, 0}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read("k", 10, {1, UINT64_MAX}).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(read("k", 10, {10, 0})->empty());
}

TEST_F(ObjectCacheTest, LargeObjectsAreReadByRange) {
  cache({.capacity = 1_MiB, .max_object = 1000});
  store("big", 1001);
  EXPECT_EQ(text_of(read("big", 1001, {5, 10})), body_of("big", 1001).substr(5, 10));
  EXPECT_EQ(faulty_.calls(StoreOperation::kGetRange), 1U);
  EXPECT_EQ(gets(), 0U);
  EXPECT_EQ(cache().bytes(), 0U);
  EXPECT_EQ(metric("weir_cache_reads_total", {{"result", "uncached"}}), 1);
  cache().insert("own", Chain(Slice::copy_of(body_of("own", 1001))));
  EXPECT_EQ(cache().bytes(), 0U);
}

TEST_F(ObjectCacheTest, LoadsInFlightAreBoundedByBytes) {
  cache({.capacity = 1_MiB, .max_object = 1000, .max_loading = 2000});
  auto gate = hold_gets();
  std::array<std::optional<Result<Chain>>, 4> answers;
  for (std::size_t i = 0; i < 3; ++i) {
    store(fmt::format("k{}", i), 1000);
    start(fmt::format("k{}", i), 1000, {0, 1}, answers[i]);
  }
  store("big", 5000);
  start("big", 5000, {0, 600}, answers[3]);
  EXPECT_EQ(gets(), 2U);
  EXPECT_EQ(faulty_.calls(StoreOperation::kGetRange), 0U);
  gate->open();
  poll();
  for (const auto& answer : answers) EXPECT_TRUE(answer.value());
  EXPECT_EQ(gets(), 3U);
}

TEST_F(ObjectCacheTest, WaitsAreBoundedInNumber) {
  cache({.max_waiting = 2});
  store("k", 100);
  store("cached", 100);
  ASSERT_TRUE(read("cached", 100, {0, 1}));
  auto gate = hold_gets();
  std::array<std::optional<Result<Chain>>, 3> answers;
  for (auto& answer : answers) start("k", 100, {0, 1}, answer);
  ASSERT_TRUE(answers[2]);
  EXPECT_EQ(answers[2]->error().code, ErrorCode::kThrottled);
  EXPECT_EQ(read("other", 100, {0, 1}).error().code, ErrorCode::kThrottled);
  EXPECT_TRUE(read("cached", 100, {0, 1}));
  gate->open();
  poll();
  EXPECT_TRUE(answers[0].value());
  EXPECT_TRUE(answers[1].value());
  faulty_.set_plan({});
  store("other", 100);
  EXPECT_TRUE(read("other", 100, {0, 1}));
}

TEST_F(ObjectCacheTest, DroppedObjectsAreReadAgain) {
  store("k", 100);
  ASSERT_TRUE(read("k", 100, {0, 1}));
  cache().drop("k");
  EXPECT_EQ(cache().bytes(), 0U);
  ASSERT_TRUE(read("k", 100, {0, 1}));
  EXPECT_EQ(gets(), 2U);
  cache().drop("absent");
}

TEST_F(ObjectCacheTest, AnObjectDroppedWhileItLoadsIsNotKept) {
  store("k", 100);
  auto gate = hold_gets();
  std::optional<Result<Chain>> answer;
  start("k", 100, {0, 1}, answer);
  cache().drop("k");
  gate->open();
  poll();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(*answer);
  EXPECT_EQ(cache().bytes(), 0U);
  faulty_.set_plan({});
  ASSERT_TRUE(read("k", 100, {0, 1}));
  EXPECT_EQ(gets(), 2U);
}

TEST_F(ObjectCacheTest, TheFirstOfTwoInsertsStays) {
  cache().insert("k", Chain(Slice::copy_of("first")));
  ByteCount bytes = cache().bytes();
  cache().insert("k", Chain(Slice::copy_of("other")));
  EXPECT_EQ(cache().bytes(), bytes);
  EXPECT_EQ(text_of(read("k", 5, {0, 5})), "first");
}

TEST_F(ObjectCacheTest, StaysWithinItsCapacityAndCountsEvictions) {
  cache({.capacity = 100'000, .max_object = 20'000, .max_loading = 20'000});
  for (int i = 0; i < 40; ++i) {
    std::string key = fmt::format("k{}", i);
    store(key, 9'000);
    ASSERT_TRUE(read(key, 9'000, {0, 9'000}));
    EXPECT_LE(cache().bytes(), 100'000U);
  }
  EXPECT_EQ(metric("weir_cache_evictions_total") + metric("weir_cache_objects"), 40);
  EXPECT_GE(metric("weir_cache_objects"), 9);
  // The last one is there, the first one is not.
  std::size_t before = gets();
  ASSERT_TRUE(read("k39", 9'000, {0, 1}));
  EXPECT_EQ(gets(), before);
  ASSERT_TRUE(read("k0", 9'000, {0, 1}));
  EXPECT_EQ(gets(), before + 1);
}

// A reader that keeps a little of each object would keep them all.
TEST_F(ObjectCacheTest, WhatReadersHoldOfObjectsThatLeftIsBounded) {
  constexpr ByteCount kSize = 10'000;
  cache({.capacity = 100'000});
  std::vector<Result<Chain>> held;
  for (int i = 0; i < 200; ++i) {
    const std::string key = fmt::format("o{}", i);
    store(key, kSize);
    held.push_back(read(key, kSize, {.from = 500, .count = 100}));
    ASSERT_EQ(text_of(held.back()), body_of(key, kSize).substr(500, 100));
    // All that the cache had may be held when it becomes much.
    EXPECT_LE(cache().lingering_bytes() + cache().bytes(), 100'000 * 9 / 8 + 2 * kSize);
  }
  EXPECT_GT(metric("weir_cache_copied_reads_total"), 150);
  // Of most of an object no copy is made: it would take as much.
  held.push_back(read("o0", kSize, {.from = 0, .count = kSize}));
  const ByteCount lingering = cache().lingering_bytes();
  EXPECT_GT(lingering, 0U);
  held.clear();
  EXPECT_EQ(cache().lingering_bytes(), 0U);
  // The requests that an own object was made of.
  cache().insert("own", Chain(Slice::copy_of(std::string(50'000, 'a'))));
  held.push_back(read("own", 50'000, {.from = 0, .count = 1}));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(read(fmt::format("o{}", i), kSize, {.from = 0, .count = 100}));
  }
  cache().insert("other", Chain(Slice::copy_of(std::string(50'000, 'b'))));
  cache().insert("third", Chain(Slice::copy_of(std::string(50'000, 'b'))));
  EXPECT_EQ(cache().lingering_bytes(), 50'000U);
  held.clear();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(read(fmt::format("o{}", i), kSize, {.from = 0, .count = 100}));
  }
  EXPECT_EQ(cache().lingering_bytes(), 0U);
  EXPECT_GT(cache().bytes(), 80'000U);
}

TEST_F(ObjectCacheTest, RunningLoadsTakeRoomFromEntries) {
  cache({.capacity = 100'000, .max_object = 50'000, .max_loading = 50'000});
  for (int i = 0; i < 10; ++i)
    cache().insert(fmt::format("own{}", i), Chain(Slice::copy_of(std::string(9'000, 'x'))));
  ASSERT_GT(cache().bytes(), 90'000U);
  store("k", 50'000);
  auto gate = hold_gets();
  std::optional<Result<Chain>> answer;
  start("k", 50'000, {0, 1}, answer);
  EXPECT_LE(cache().bytes(), 100'000U);
  EXPECT_GE(metric("weir_cache_evictions_total"), 5);
  gate->open();
  poll();
  EXPECT_TRUE(answer.value());
}

// Several threads read, insert and drop the same few objects; every byte read is checked.
TEST_F(ObjectCacheTest, ThreadsShareIt) {
  constexpr std::size_t kKeys = 24;
  constexpr std::size_t kSize = 4'000;
  constexpr ByteCount kCapacity = 10 * kSize;
  cache({.capacity = kCapacity, .max_object = kSize, .max_loading = 2 * kSize});
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < kKeys; ++i) {
    store(fmt::format("k{}", i), kSize);
    bodies.push_back(body_of(fmt::format("k{}", i), kSize));
  }
  // Every seventh call of the store fails.
  faulty_.set_plan([](const StoreCall& call) {
    StoreFault fault;
    if (call.number % 7 == 0) fault.error = Error{ErrorCode::kUnavailable, "now and then"};
    return fault;
  });
  std::atomic<int> wrong = 0;
  std::atomic<int> right = 0;
  auto work = [&](std::uint64_t seed) -> Task<void> {
    Rng rng(seed);
    for (int i = 0; i < 2000; ++i) {
      std::size_t n = rng.below(kKeys);
      std::string key = fmt::format("k{}", n);
      if (rng.below(20) == 0) cache_->insert(key, Chain(Slice::copy_of(bodies[n])));
      if (rng.below(20) == 0) cache_->drop(key);
      std::uint64_t from = rng.below(kSize);
      ByteRange range{from, rng.below(kSize - from + 1)};
      auto got = co_await cache_->read(key, kSize, range);
      if (got ? text_of(got) != bodies[n].substr(range.from, range.count)
              : got.error().code != ErrorCode::kUnavailable) {
        ++wrong;
      } else if (got) {
        ++right;
      }
      if (cache_->bytes() > kCapacity) ++wrong;
    }
  };
  boost::asio::thread_pool pool(4);
  TaskGroup group;
  for (std::uint64_t i = 0; i < 8; ++i) group.spawn(boost::asio::make_strand(pool), work(i));
  pool.join();
  EXPECT_EQ(group.running(), 0U);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(right, 10'000);
  EXPECT_LE(metric("weir_cache_bytes"), static_cast<double>(kCapacity));
}

}  // namespace
}  // namespace weir::cache

// What makes calls fewer, or more: pacing and hedging; and the probe of conditional puts.
#include "runtime/test_loop.h"
#include "storage/conditional_put_probe.h"
#include "storage/faulty_store.h"
#include "storage/hedging_store.h"
#include "storage/memory_store.h"
#include "storage/object_store_contract.h"
#include "storage/paced_store.h"
#include "storage/retrying_store.h"

#include <fmt/format.h>

namespace weir::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Passes calls on to a memory store.
class ForwardingStore : public ObjectStore {
 public:
  explicit ForwardingStore(MemoryStore& inner) : inner_(inner) {}
  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override {
    return inner_.put(std::move(key), std::move(body), options);
  }
  Task<Result<Slice>> get(ObjectKey key) override { return inner_.get(std::move(key)); }
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override {
    return inner_.get_range(std::move(key), range);
  }
  Task<Result<ObjectInfo>> head(ObjectKey key) override { return inner_.head(std::move(key)); }
  Task<Status> remove(std::vector<ObjectKey> keys) override {
    return inner_.remove(std::move(keys));
  }
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override {
    return inner_.list(std::move(prefix), std::move(after), limit);
  }

 protected:
  MemoryStore& inner_;
};

// Takes 100 ms for a put, and refuses those beyond `capacity` at once.
class CrowdedStore final : public ForwardingStore {
 public:
  CrowdedStore(MemoryStore& inner, Clock& clock) : ForwardingStore(inner), clock_(clock) {}
  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override {
    ++calls;
    if (in_flight >= capacity) {
      ++refused;
      co_return fail(ErrorCode::kThrottled, "slow down");
    }
    ++in_flight;
    most = std::max(most, in_flight);
    co_await clock_.sleep(milliseconds(100));
    --in_flight;
    co_return co_await inner_.put(std::move(key), std::move(body), options);
  }
  int capacity = 8;
  int in_flight = 0;
  int most = 0;
  int calls = 0;
  int refused = 0;

 private:
  Clock& clock_;
};

class PacedFixture final : public StoreFixture {
 public:
  ObjectStore& store() override { return hedging_; }

 private:
  ManualClock clock_;
  MetricsRegistry registry_;
  MemoryStore memory_{clock_};
  PacedStore paced_{memory_, registry_, {.most = 2}};
  HedgingStore hedging_{paced_, clock_, registry_, {.samples_min = 1}};
};

INSTANTIATE_TEST_SUITE_P(Paced, ObjectStoreContract,
                         testing::Values(StoreKind{
                             "paced", [] { return std::make_unique<PacedFixture>(); }}));

std::int64_t limit_of(const MetricsRegistry& registry, const std::string& calls) {
  for (const MetricFamily& family : registry.snapshot()) {
    if (family.name != "weir_object_store_limit") continue;
    for (const MetricSample& sample : family.samples) {
      if (sample.labels == MetricLabels{{"calls", calls}}) {
        return static_cast<std::int64_t>(sample.value);
      }
    }
  }
  return -1;
}

class PacedStoreTest : public testing::Test {
 protected:
  // Puts `count` objects, `at_once` at a time, until all have succeeded.
  Task<bool> put_all(int count, int at_once) {
    int next = 0;
    int failed = 0;
    TaskGroup group;
    auto worker = [&]() -> Task<void> {
      while (next < count) {
        std::string key = fmt::format("k{}", next++);
        Status done = co_await retrying_.put(key, Chain(), {});
        failed += done ? 0 : 1;
      }
    };
    for (int i = 0; i < at_once; ++i) group.spawn(context_.get_executor(), worker());
    co_await group.join();
    co_return failed == 0;
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  MetricsRegistry registry_;
  MemoryStore memory_{clock_};
  CrowdedStore crowded_{memory_, clock_};
  PacedStore paced_{crowded_, registry_, {.most = 64}};
  RetryingStore retrying_{paced_, clock_, Rng(3), {.deadline = seconds(120)}};
};

TEST_F(PacedStoreTest, FindsWhatTheStoreBears) {
  ASSERT_TRUE(run_in_time(context_, clock_, put_all(400, 64)));
  EXPECT_EQ(limit_of(registry_, "reads"), 64);
  // It swings between half of the store's capacity and a little above it.
  EXPECT_GE(limit_of(registry_, "writes"), 4);
  EXPECT_LE(limit_of(registry_, "writes"), 10);
  int refused_first = std::exchange(crowded_.refused, 0);
  crowded_.calls = 0;
  MonoTime start = clock_.now();
  ASSERT_TRUE(run_in_time(context_, clock_, put_all(400, 64)));
  // Of 400 calls a few are refused, where 64 at once would have most of them refused; and the store
  // is kept busy: 400 calls of 100 ms, at best 8 at once, are 5 s.
  EXPECT_LE(crowded_.refused, 40) << "first " << refused_first;
  EXPECT_LE(clock_.now() - start, seconds(10));
}

TEST_F(PacedStoreTest, RisesAgainWhenTheStoreRecovers) {
  crowded_.capacity = 0;
  auto during = [this]() -> Task<bool> {
    TaskGroup group;
    auto recover = [this]() -> Task<void> {
      co_await clock_.sleep(seconds(20));
      crowded_.capacity = 1000;
    };
    group.spawn(context_.get_executor(), recover());
    bool all = co_await put_all(50, 50);
    co_await group.join();
    co_return all;
  };
  ASSERT_TRUE(run_in_time(context_, clock_, during()));
  EXPECT_LE(limit_of(registry_, "writes"), 16);
  ASSERT_TRUE(run_in_time(context_, clock_, put_all(5000, 100)));
  EXPECT_EQ(limit_of(registry_, "writes"), 64);
  EXPECT_EQ(crowded_.most, 64);
}

TEST_F(PacedStoreTest, RefusesMoreThanCanWait) {
  PacedStore tight(crowded_, registry_, {.most = 1, .waiting_max = 2});
  std::vector<ErrorCode> errors;
  int done = 0;
  for (int i = 0; i < 5; ++i) {
    boost::asio::co_spawn(context_, tight.put("k", Chain(), {}),
                          [&](const std::exception_ptr&, const Status& one) {
                            if (one) ++done;
                            if (!one) errors.push_back(one.error().code);
                          });
  }
  for (int i = 0; i < 40; ++i) {
    context_.restart();
    context_.poll();
    clock_.advance(milliseconds(10));
  }
  EXPECT_EQ(done, 3);
  EXPECT_EQ(errors, (std::vector<ErrorCode>{ErrorCode::kExhausted, ErrorCode::kExhausted}));
  EXPECT_EQ(crowded_.most, 1);
}

class HedgingStoreTest : public testing::Test {
 protected:
  ~HedgingStoreTest() override { run(finish()); }

  Task<bool> finish() {
    co_await store_.join();
    co_return true;
  }
  template <typename T>
  T run(Task<T> task) {
    return run_in_time(context_, clock_, std::move(task));
  }
  Status put(PutOptions options = {}) {
    return run(store_.put("k", Chain(Slice::copy_of("body")), options));
  }
  // Each call takes so many ms; the last number holds for all that follow.
  void take(std::vector<int> ms) {
    std::size_t first = faulty_.calls() + 1;
    faulty_.set_plan([ms = std::move(ms), first](const StoreCall& call) {
      std::size_t index = std::min(call.number - first, ms.size() - 1);
      return StoreFault{.delay = milliseconds(ms[index])};
    });
  }
  // 400 calls of 100 ms fill the window and the budget.
  void settle() {
    take({100});
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(put());
    ASSERT_EQ(faulty_.calls(), 400U);
  }
  Duration timed_put() {
    MonoTime start = clock_.now();
    EXPECT_TRUE(put());
    return clock_.now() - start;
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  MetricsRegistry registry_;
  MemoryStore memory_{clock_};
  FaultyStore faulty_{memory_, clock_};
  HedgingStore store_{faulty_, clock_, registry_, {.budget = 0.05, .burst = 10}};
};

TEST_F(HedgingStoreTest, ASlowPutIsSentAgain) {
  settle();
  take({9000, 100});
  EXPECT_LE(timed_put(), milliseconds(250));
  EXPECT_EQ(faulty_.calls(), 402U);
  run(finish());
  EXPECT_EQ(memory_.size(), 1U);
}

TEST_F(HedgingStoreTest, GetsAndRangesAreHedgedToo) {
  ASSERT_TRUE(put());
  take({50});
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(run(store_.get("k")));
    ASSERT_TRUE(run(store_.get_range("k", {1, 2})));
  }
  for (int i = 0; i < 2; ++i) {
    take({9000, 50});
    MonoTime start = clock_.now();
    auto got = run(i == 0 ? store_.get("k") : store_.get_range("k", {1, 2}));
    ASSERT_TRUE(got);
    EXPECT_EQ(as_text(got->bytes()), i == 0 ? "body" : "od");
    EXPECT_LE(clock_.now() - start, milliseconds(150));
  }
}

TEST_F(HedgingStoreTest, TheBudgetHolds) {
  // Every second call is slow, and by this policy worth a second one.
  HedgingStore eager(faulty_, clock_, registry_, {.quantile = 0.25, .budget = 0.05, .burst = 10});
  faulty_.set_plan([](const StoreCall& call) {
    return StoreFault{.delay = milliseconds(call.number % 2 == 0 ? 100 : 3000)};
  });
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(run(eager.put("k", Chain(), {})));
  EXPECT_LE(faulty_.calls(), 1000U + 50);
  EXPECT_GE(faulty_.calls(), 1000U + 40);
  run([](HedgingStore& store) -> Task<bool> {
    co_await store.join();
    co_return true;
  }(eager));
}

TEST_F(HedgingStoreTest, WhenAllIsSlowThatBecomesUsual) {
  settle();
  take({3000});
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(put());
  EXPECT_LE(faulty_.calls(), 600U + 10);
}

TEST_F(HedgingStoreTest, NoneIsSentAgainBeforeTheUsualTimeIsKnown) {
  take({100});
  for (int i = 0; i < 19; ++i) ASSERT_TRUE(put());
  take({9000, 100});
  EXPECT_GE(timed_put(), seconds(9));
  EXPECT_EQ(faulty_.calls(), 20U);
}

TEST_F(HedgingStoreTest, AConditionalPutIsSentOnce) {
  settle();
  ASSERT_TRUE(run(memory_.remove({"k"})));
  take({9000});
  ASSERT_TRUE(put({.if_absent = true}));
  EXPECT_EQ(faulty_.calls(), 401U);
}

TEST_F(HedgingStoreTest, OneFailureIsMadeGoodByTheOther) {
  settle();
  for (std::size_t failing : {1U, 2U}) {
    std::size_t first = faulty_.calls() + 1;
    faulty_.set_plan([failing, first](const StoreCall& call) {
      StoreFault fault{.delay = milliseconds(call.number == first ? 300 : 400)};
      if (call.number == first + failing - 1) fault.error = Error{ErrorCode::kTimeout, "lost"};
      return fault;
    });
    EXPECT_TRUE(put());
    EXPECT_EQ(faulty_.calls(), first + 1);
  }
  faulty_.set_plan([](const StoreCall& call) {
    return StoreFault{.delay = milliseconds(300),
                      .error = Error{ErrorCode::kTimeout, fmt::format("lost {}", call.number)}};
  });
  std::size_t before = faulty_.calls();
  Status done = put();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, fmt::format("lost {}", before + 1));
  // A failure before the usual time is the retrying store's business.
  faulty_.fail_call(1, {ErrorCode::kThrottled, "at once"});
  before = faulty_.calls();
  EXPECT_FALSE(put());
  EXPECT_EQ(faulty_.calls(), before + 1);
}

// Stores that do not do what they say.
class ForgetfulStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Task<Status> put(ObjectKey key, Chain body, PutOptions) override {
    return inner_.put(std::move(key), std::move(body), {});
  }
};

class LookingStore final : public ForwardingStore {
 public:
  LookingStore(MemoryStore& inner, Clock& clock) : ForwardingStore(inner), clock_(clock) {}
  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override {
    auto found = co_await inner_.head(key);
    if (options.if_absent && found) co_return fail(ErrorCode::kConflict, "exists");
    co_await clock_.sleep(milliseconds(1));
    co_return co_await inner_.put(std::move(key), std::move(body), {});
  }

 private:
  Clock& clock_;
};

class ProbeTest : public testing::Test {
 protected:
  Status probe(ObjectStore& store) {
    return run_in_time(context_, clock_, probe_conditional_put(store, "s3://b at http://h", rng_));
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  Rng rng_{5};
  MemoryStore memory_{clock_};
};

TEST_F(ProbeTest, AStoreThatHonoursTheConditionPassesAndIsLeftAsItWas) {
  EXPECT_TRUE(probe(memory_));
  EXPECT_EQ(memory_.size(), 0U);
}

TEST_F(ProbeTest, StoresThatDoNotAreRefusedByName) {
  ForgetfulStore forgetful(memory_);
  Status done = probe(forgetful);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInvalid);
  EXPECT_NE(done.error().message.find("s3://b at http://h"), std::string::npos);
  EXPECT_NE(done.error().message.find("a second write"), std::string::npos);
  LookingStore looking(memory_, clock_);
  done = probe(looking);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("of 8 writes at the same moment 8"), std::string::npos)
      << done.error().message;
  FaultyStore refusing(memory_, clock_);
  refusing.fail_call(1, {ErrorCode::kInvalid, "501 NotImplemented"});
  done = probe(refusing);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInvalid);
  EXPECT_NE(done.error().message.find("501 NotImplemented"), std::string::npos);
}

TEST_F(ProbeTest, AStoreThatIsDownIsNotJudged) {
  for (std::size_t call = 1; call <= 3; ++call) {
    FaultyStore down(memory_, clock_);
    down.fail_call(call, {ErrorCode::kUnavailable, "down"});
    Status done = probe(down);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(done.error().message.find("s3://b at http://h"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::storage

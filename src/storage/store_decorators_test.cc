// The retrying and the metered store, over a memory store with faults.
#include "runtime/task_group.h"
#include "storage/delayed_store.h"
#include "storage/faulty_store.h"
#include "storage/memory_store.h"
#include "storage/metered_store.h"
#include "storage/object_store_contract.h"
#include "storage/retrying_store.h"
#include "storage/watched_store.h"

#include <fmt/format.h>

namespace weir::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// All decorators on top of each other keep the contract.
class DecoratedFixture final : public StoreFixture {
 public:
  ObjectStore& store() override { return retrying_; }

 private:
  ManualClock clock_;
  MetricsRegistry registry_;
  MemoryStore memory_{clock_};
  FaultyStore faulty_{memory_, clock_};
  MeteredStore metered_{faulty_, clock_, registry_};
  WatchedStore watched_{metered_, clock_};
  RetryingStore retrying_{watched_, clock_, Rng(1), {}};
};

INSTANTIATE_TEST_SUITE_P(Decorated, ObjectStoreContract,
                         testing::Values(StoreKind{
                             "decorated", [] { return std::make_unique<DecoratedFixture>(); }}));

class RetryingStoreTest : public testing::Test {
 protected:
  template <typename T>
  T run(Task<T> task) {
    return run_in_time(context_, clock_, std::move(task));
  }
  Status put(const std::string& key, std::string_view body, PutOptions options = {}) {
    return run(store_.put(key, Chain(Slice::copy_of(body)), options));
  }
  // Every call answers `code`.
  void set_outage(ErrorCode code) {
    faulty_.set_plan([code](const StoreCall&) {
      StoreFault fault;
      fault.error = Error{code, "no way"};
      return fault;
    });
  }
  std::string stored(const std::string& key) {
    auto body = run(memory_.get(key));
    return body ? std::string(as_text(body->bytes())) : body.error().to_string();
  }

  boost::asio::io_context context_;
  ManualClock clock_;
  MemoryStore memory_{clock_};
  FaultyStore faulty_{memory_, clock_};
  RetryingStore store_{
      faulty_,
      clock_,
      Rng(1),
      {.first_delay = milliseconds(100), .max_delay = seconds(1), .deadline = seconds(10)}};
};

TEST_F(RetryingStoreTest, EveryOperationIsTriedAgain) {
  ASSERT_TRUE(put("k", "body"));
  for (ErrorCode code : {ErrorCode::kTimeout, ErrorCode::kUnavailable, ErrorCode::kThrottled}) {
    Error error{code, "for a moment"};
    faulty_.fail_call(1, error);
    EXPECT_TRUE(put("k", "body"));
    faulty_.fail_call(1, error);
    EXPECT_EQ(as_text(run(store_.get("k"))->bytes()), "body");
    faulty_.fail_call(1, error);
    EXPECT_EQ(as_text(run(store_.get_range("k", {1, 2}))->bytes()), "od");
    faulty_.fail_call(1, error);
    EXPECT_EQ(run(store_.head("k"))->size, 4U);
    faulty_.fail_call(1, error);
    EXPECT_EQ(run(store_.list("", "", 10))->objects.size(), 1U);
    faulty_.fail_call(1, error);
    EXPECT_TRUE(run(store_.remove({"other"})));
  }
  EXPECT_EQ(faulty_.calls(), 1U + 3 * 6 * 2);
}

TEST_F(RetryingStoreTest, ARetriedPutSendsTheWholeBody) {
  Chain body(Slice::copy_of("two "));
  body.append(Slice::copy_of("slices"));
  faulty_.fail_call(1, {ErrorCode::kTimeout, "lost"});
  ASSERT_TRUE(run(store_.put("k", body, {})));
  EXPECT_EQ(stored("k"), "two slices");
}

TEST_F(RetryingStoreTest, FinalErrorsAreAnsweredAtOnce) {
  for (ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kConflict, ErrorCode::kInvalid,
                         ErrorCode::kCorrupt, ErrorCode::kExhausted}) {
    std::size_t before = faulty_.calls();
    set_outage(code);
    auto answer = run(store_.get("k"));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, code);
    EXPECT_EQ(answer.error().message, "no way");
    EXPECT_EQ(faulty_.calls(), before + 1);
  }
}

TEST_F(RetryingStoreTest, GivesUpAtTheDeadline) {
  set_outage(ErrorCode::kUnavailable);
  MonoTime start = clock_.now();
  Status done = put("k", "x");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_LE(clock_.now() - start, seconds(10));
  EXPECT_GE(clock_.now() - start, seconds(9));
  // Delays of 50 to 100, 100 to 200, 200 to 400, 400 to 800 ms, then half a second to one.
  EXPECT_GE(faulty_.calls(), 12U);
  EXPECT_LE(faulty_.calls(), 23U);
  EXPECT_TRUE(done.error().message.starts_with(
      fmt::format("given up after {} attempts in ", faulty_.calls())))
      << done.error().message;
  EXPECT_TRUE(done.error().message.ends_with(": no way")) << done.error().message;
}

TEST_F(RetryingStoreTest, AnIfAbsentPutRecognisesItsOwnObject) {
  faulty_.fail_call(1, {ErrorCode::kTimeout, "answer lost"}, true);
  EXPECT_TRUE(put("log/1", "mine", {.if_absent = true}));
  EXPECT_EQ(stored("log/1"), "mine");
}

TEST_F(RetryingStoreTest, AnIfAbsentPutDoesNotTakeAnothersObjectForItsOwn) {
  ASSERT_TRUE(run(memory_.put("log/1", Chain(Slice::copy_of("hers")), {})));
  faulty_.fail_call(1, {ErrorCode::kTimeout, "request lost"});
  Status done = put("log/1", "mine", {.if_absent = true});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kConflict);
  EXPECT_EQ(stored("log/1"), "hers");
  // Nor without a retry, when it has the same bytes.
  EXPECT_EQ(put("log/1", "hers", {.if_absent = true}).error().code, ErrorCode::kConflict);
}

// The look at what stands there fails: its code says nothing of the put.
TEST_F(RetryingStoreTest, AnIfAbsentPutThatCannotBeLookedAtIsOfUnknownOutcome) {
  for (const auto code : {ErrorCode::kInvalid, ErrorCode::kExhausted, ErrorCode::kConflict}) {
    const std::string key = "log/" + std::string(to_string(code)).substr(0, 5);
    faulty_.set_plan([code, puts = 0](const StoreCall& call) mutable {
      const bool first = call.operation == StoreOperation::kPut && ++puts == 1;
      if (first)
        return StoreFault{.error = Error{ErrorCode::kTimeout, "lost"}, .takes_effect = true};
      if (call.operation != StoreOperation::kGet) return StoreFault{};
      return StoreFault{.error = Error{code, "no look"}};
    });
    Status done = put(key, "mine", {.if_absent = true});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kTimeout);
  }
}

TEST_F(RetryingStoreTest, StopOfReadsLeavesWritesAlone) {
  faulty_.fail_call(1, Error{ErrorCode::kUnavailable, "no way"});
  store_.stop_reads();
  EXPECT_EQ(run(store_.get("a")).error().message, "no way");
  faulty_.fail_call(1, Error{ErrorCode::kUnavailable, "no way"});
  EXPECT_TRUE(put("a", "x"));
}

TEST_F(RetryingStoreTest, StopEndsTheWaits) {
  set_outage(ErrorCode::kUnavailable);
  std::optional<Status> answer;
  boost::asio::co_spawn(context_, store_.put("k", Chain(), {}),
                        [&](const std::exception_ptr&, Status done) { answer = std::move(done); });
  context_.poll();
  EXPECT_FALSE(answer);
  store_.stop();
  context_.restart();
  context_.poll();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(faulty_.calls(), 1U);
  EXPECT_FALSE(put("k", "x"));
  EXPECT_EQ(faulty_.calls(), 2U);
}

double value_of(const MetricsRegistry& registry, const std::string& name,
                const MetricLabels& labels) {
  for (const MetricFamily& family : registry.snapshot()) {
    if (family.name != name) continue;
    for (const MetricSample& sample : family.samples) {
      if (sample.labels == labels) return sample.value;
    }
  }
  ADD_FAILURE() << "no metric " << name;
  return -1;
}

TEST(DelayedStoreTest, PutsAndGetsTakeAtLeastWhatTheModelSays) {
  ManualClock clock;
  DelayedStore store(
      std::make_unique<MemoryStore>(clock), clock,
      {.put = {milliseconds(100), milliseconds(100)}, .get = {milliseconds(60), milliseconds(60)}},
      Rng(1));
  boost::asio::io_context context;
  const auto time = [&](auto task) {
    bool done = false;
    boost::asio::co_spawn(context, std::move(task),
                          [&](const std::exception_ptr&, auto) { done = true; });
    const MonoTime begin = clock.now();
    for (int i = 0; i < 1000 && !done; ++i) {
      context.restart();
      context.poll();
      if (!done) clock.advance(milliseconds(1));
    }
    return clock.now() - begin;
  };
  EXPECT_EQ(time(store.put("a", Chain(Slice::copy_of("x")), {})), milliseconds(100));
  EXPECT_EQ(time(store.get("a")), milliseconds(60));
  EXPECT_EQ(time(store.get_range("a", {0, 1})), milliseconds(60));
  EXPECT_EQ(time(store.head("a")), milliseconds(60));
  EXPECT_EQ(time(store.list("", "", 1)), milliseconds(0));
}

TEST(MeteredStore, CountsRequestsErrorsBytesAndTime) {
  boost::asio::io_context context;
  ManualClock clock;
  MetricsRegistry registry;
  MemoryStore memory(clock);
  FaultyStore faulty(memory, clock);
  MeteredStore store(faulty, clock, registry);
  ASSERT_TRUE(run_task(context, store.put("k", Chain(Slice::copy_of("12345")), {})));
  ASSERT_TRUE(run_task(context, store.get("k")));
  ASSERT_TRUE(run_task(context, store.get_range("k", {0, 2})));
  ASSERT_FALSE(run_task(context, store.head("absent")));
  ASSERT_TRUE(run_task(context, store.list("", "", 1)));
  faulty.fail_call(1, {ErrorCode::kThrottled, "slow down"});
  ASSERT_FALSE(run_task(context, store.put("j", Chain(Slice::copy_of("lost")), {})));

  const std::string requests = "weir_object_store_requests_total";
  const std::string errors = "weir_object_store_errors_total";
  const std::string bytes = "weir_object_store_bytes_total";
  EXPECT_EQ(value_of(registry, requests, {{"operation", "put"}}), 2);
  EXPECT_EQ(value_of(registry, requests, {{"operation", "list"}}), 1);
  EXPECT_EQ(value_of(registry, requests, {{"operation", "remove"}}), 0);
  EXPECT_EQ(value_of(registry, errors, {{"operation", "head"}, {"error", "not_found"}}), 1);
  EXPECT_EQ(value_of(registry, errors, {{"operation", "put"}, {"error", "throttled"}}), 1);
  EXPECT_EQ(value_of(registry, errors, {{"operation", "get"}, {"error", "not_found"}}), 0);
  EXPECT_EQ(value_of(registry, bytes, {{"operation", "put"}}), 5);
  EXPECT_EQ(value_of(registry, bytes, {{"operation", "get"}}), 5);
  EXPECT_EQ(value_of(registry, bytes, {{"operation", "get_range"}}), 2);
  EXPECT_EQ(value_of(registry, "weir_object_store_put_bytes", {}), 5);
}

TEST(MeteredStore, ShowsWhatIsInFlightAndHowLongItTook) {
  boost::asio::io_context context;
  ManualClock clock;
  MetricsRegistry registry;
  MemoryStore memory(clock);
  FaultyStore faulty(memory, clock);
  MeteredStore store(faulty, clock, registry);
  faulty.set_plan([](const StoreCall&) { return StoreFault{.delay = milliseconds(250)}; });
  TaskGroup group;
  auto work = [&]() -> Task<void> { co_await store.put("k", Chain(), {}); };
  group.spawn(context.get_executor(), work());
  context.poll();
  EXPECT_EQ(value_of(registry, "weir_object_store_in_flight", {{"operation", "put"}}), 1);
  clock.advance(milliseconds(250));
  run_task(context, group.join());
  EXPECT_EQ(value_of(registry, "weir_object_store_in_flight", {{"operation", "put"}}), 0);
  EXPECT_DOUBLE_EQ(value_of(registry, "weir_object_store_request_seconds", {{"operation", "put"}}),
                   0.25);
}

}  // namespace
}  // namespace weir::storage

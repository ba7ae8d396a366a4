#include "metadata/log/object_log_test_fixture.h"
#include "runtime/temporary_folder.h"
#include "storage/file_store.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>

#include <map>

namespace weir::metadata {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using storage::StoreCall;
using storage::StoreFault;
using storage::StoreOperation;

class ForwardingStore : public storage::ObjectStore {
 public:
  explicit ForwardingStore(storage::ObjectStore& inner) : inner_(inner) {}

  Task<Status> put(storage::ObjectKey key, Chain body, storage::PutOptions options) override {
    return inner_.put(std::move(key), std::move(body), options);
  }
  Task<Result<Slice>> get(storage::ObjectKey key) override { return inner_.get(std::move(key)); }
  Task<Result<Slice>> get_range(storage::ObjectKey key, storage::ByteRange range) override {
    return inner_.get_range(std::move(key), range);
  }
  Task<Result<storage::ObjectInfo>> head(storage::ObjectKey key) override {
    return inner_.head(std::move(key));
  }
  Task<Status> remove(std::vector<storage::ObjectKey> keys) override {
    return inner_.remove(std::move(keys));
  }
  Task<Result<storage::ListPage>> list(std::string prefix, std::string after,
                                       std::size_t limit) override {
    return inner_.list(std::move(prefix), std::move(after), limit);
  }

 protected:
  storage::ObjectStore& inner() { return inner_; }

 private:
  storage::ObjectStore& inner_;
};

class InMemory final : public LogUnderTest {
 public:
  std::shared_ptr<MetadataLog> open(Clock& clock) override { return thread_.open(store_, clock); }

 private:
  SystemClock clock_;
  ObjectLogThread thread_;
  storage::MemoryStore store_{clock_};
};

class InFiles final : public LogUnderTest {
 public:
  // Its threads may still be within the call that woke the log's loop.
  ~InFiles() override { blocking_.join(); }
  std::shared_ptr<MetadataLog> open(Clock& clock) override { return thread_.open(*store_, clock); }

 private:
  TemporaryFolder folder_;
  boost::asio::thread_pool blocking_{2};
  ObjectLogThread thread_;
  std::unique_ptr<storage::FileStore> store_ =
      storage::FileStore::open(folder_.path().string(), blocking_.get_executor()).value();
};

INSTANTIATE_TEST_SUITE_P(ObjectInMemory, MetadataLogContract,
                         ::testing::Values([] { return std::make_unique<InMemory>(); }));
INSTANTIATE_TEST_SUITE_P(ObjectInFiles, MetadataLogContract,
                         ::testing::Values([] { return std::make_unique<InFiles>(); }));

TEST_F(ObjectLogTest, KnowsItsOwnEntryAfterALostAnswer) {
  auto log = open_log(store_, clock_);
  for (const ErrorCode code : {ErrorCode::kTimeout, ErrorCode::kConflict}) {
    fail_next_put(code, true);  // kConflict: a store below that tried again itself
    auto appended = append(*log, "a");
    ASSERT_TRUE(appended) << appended.error().to_string();
  }
  EXPECT_EQ(stored(*log), "1:a 2:a ");
}

// Of whatever code the error of a PUT is, it may come after the effect.
TEST_F(ObjectLogTest, AfterEveryErrorOfAPutItLooksWhatStandsThere) {
  auto log = open_log(store_, clock_);
  Position last = 0;
  for (std::size_t i = 0; i < kErrorCodes; ++i) {
    fail_next_put(static_cast<ErrorCode>(i), true);
    auto appended = append(*log, "a");
    ASSERT_TRUE(appended) << appended.error().to_string();
    EXPECT_EQ(appended->position, ++last);
  }
  EXPECT_EQ(run(log->tail()).value(), last);
}

// Behind the own PUT, too: the look whether the block was trimmed.
TEST_F(ObjectLogTest, NoErrorOfTheStoreIsARefusal) {
  for (const auto operation : storage::kStoreOperations) {
    for (std::size_t i = 0; i < kErrorCodes; ++i) {
      const auto code = static_cast<ErrorCode>(i);
      if (code == ErrorCode::kRefused) continue;  // no store answers it
      auto log = open_log(store_, clock_);
      store_.set_plan([=](const StoreCall& call) {
        if (call.operation != operation) return StoreFault{};
        return StoreFault{.error = Error{code, "planned"}, .takes_effect = true};
      });
      auto appended = append(*log, "a");
      store_.set_plan({});
      if (!appended) EXPECT_NE(appended.error().code, ErrorCode::kRefused);
    }
  }
}

TEST_F(ObjectLogTest, AnUnknownOutcomeIsAnErrorAndTheLogGoesOn) {
  auto log = open_log(store_, clock_);
  fail_next_put(ErrorCode::kTimeout, false);
  EXPECT_EQ(append(*log, "a").error().code, ErrorCode::kTimeout);
  EXPECT_EQ(append(*log, "b").value().position, 1);
  EXPECT_EQ(stored(*log), "1:b ");
}

// A PUT whose answer was given up arrives in the end, where the log wants to write next.
TEST_F(ObjectLogTest, ALatePutIsAnothersEntry) {
  auto log = open_log(store_, clock_);
  fail_next_put(ErrorCode::kTimeout, false);
  EXPECT_FALSE(append(*log, "late"));
  const std::vector<Slice> late = {Slice::copy_of("late")};
  ASSERT_TRUE(run(memory_.put(object_log::key(object_log::kEntries, 1),
                              object_log::encode_group({1, 2}, 1, late), {.if_absent = true})));
  EXPECT_EQ(append(*log, "next").value().position, 2);
  EXPECT_EQ(stored(*log), "1:late 2:next ");
}

// Whatever is put, another writer has put something there a moment before.
class AlwaysLater final : public ForwardingStore {
 public:
  AlwaysLater(storage::ObjectStore& inner, ManualClock& clock)
      : ForwardingStore(inner), clock_(clock) {}

  Task<Status> put(storage::ObjectKey key, Chain body, storage::PutOptions options) override {
    if (const auto first = object_log::number_of(object_log::kEntries, key)) {
      const std::vector<Slice> others = {Slice::copy_of("other")};
      WEIR_CO_CHECK(
          co_await inner().put(key, object_log::encode_group({1, 1}, *first, others), options));
      clock_.advance(milliseconds(20));
    }
    co_return co_await ForwardingStore::put(std::move(key), std::move(body), options);
  }

 private:
  ManualClock& clock_;
};

TEST_F(ObjectLogTest, WhoLosesEveryRaceLearnsOfIt) {
  ManualClock clock;
  AlwaysLater store(memory_, clock);
  const MonoTime began = clock.now();
  auto log = open_log(store, clock);
  EXPECT_EQ(append(*log, "own").error().code, ErrorCode::kConflict);
  EXPECT_LT(clock.now() - began, seconds(2));
  EXPECT_EQ(stored(*log).find("own"), std::string::npos);
}

TEST_F(ObjectLogTest, AppendsThatComeTogetherShareAnObject) {
  auto log = open_log(store_, clock_);
  auto gate = std::make_shared<storage::StoreGate>();
  store_.set_plan([=, first = true](const StoreCall& call) mutable {
    if (!call.key.starts_with("log/entries/") || call.operation != StoreOperation::kPut ||
        !std::exchange(first, false)) {
      return StoreFault{};
    }
    return StoreFault{.hold = gate};
  });
  const std::size_t before = store_.calls(StoreOperation::kPut);
  int done = 0;
  for (int i = 0; i < 40; ++i) {
    boost::asio::co_spawn(loop, log->append(Slice::copy_of(std::to_string(i)), 0),
                          [&](const std::exception_ptr&, const Result<Appended>& appended) {
                            EXPECT_TRUE(appended);
                            if (++done == 40) loop.stop();
                          });
  }
  loop.restart();
  loop.run_for(milliseconds(50));
  gate->open();
  loop.restart();
  loop.run_for(seconds(20));
  EXPECT_EQ(done, 40);
  EXPECT_LE(store_.calls(StoreOperation::kPut) - before, 4U);
  // A reader that knows nothing of groups starts in the middle of one.
  auto other = open_log(store_, clock_);
  EXPECT_EQ(stored(*other, 37).substr(0, 3), "38:");
  EXPECT_EQ(run(other->tail()).value(), 40);
}

// Keeps no promise on conditional writes.
class CarelessStore final : public ForwardingStore {
 public:
  enum class Flaw { kOverwrites, kRaces };
  CarelessStore(storage::ObjectStore& inner, Clock& clock, Flaw flaw)
      : ForwardingStore(inner), clock_(clock), flaw_(flaw) {}

  Task<Status> put(storage::ObjectKey key, Chain body, storage::PutOptions options) override {
    if (flaw_ == Flaw::kRaces && options.if_absent) {
      if (co_await inner().head(key)) co_return fail(ErrorCode::kConflict, "exists");
      co_await clock_.sleep(milliseconds(5));
    }
    co_return co_await inner().put(std::move(key), std::move(body), {});
  }

 private:
  Clock& clock_;
  Flaw flaw_;
};

TEST_F(ObjectLogTest, AStoreWithoutConditionalWritesIsRefused) {
  for (const auto flaw : {CarelessStore::Flaw::kOverwrites, CarelessStore::Flaw::kRaces}) {
    CarelessStore careless(memory_, clock_, flaw);
    auto log = thread_.try_open(careless, "s3://bucket", clock_);
    ASSERT_FALSE(log);
    EXPECT_EQ(log.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(log.error().message.contains("s3://bucket")) << log.error().message;
    EXPECT_TRUE(log.error().message.contains("If-None-Match")) << log.error().message;
    EXPECT_TRUE(thread_.try_open(careless, "s3://bucket", clock_, {.probe = false}));
  }
  EXPECT_TRUE(run(memory_.list("probe/", "", 10)).value().objects.empty());
}

TEST_F(ObjectLogTest, AStoreThatWasDownAtTheStartIsTriedOutBeforeTheFirstAppend) {
  CarelessStore careless(store_, clock_, CarelessStore::Flaw::kOverwrites);
  store_.set_plan(
      [](const StoreCall&) { return StoreFault{.error = Error{ErrorCode::kUnavailable, "down"}}; });
  auto log = open_log(careless, clock_);
  store_.set_plan({});
  EXPECT_EQ(append(*log, "a").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(stored(*log), "");
}

TEST_F(ObjectLogTest, AStoreThatIsDownAtTheStartIsUsedLater) {
  store_.set_plan(
      [](const StoreCall&) { return StoreFault{.error = Error{ErrorCode::kUnavailable, "down"}}; });
  auto log = open_log(store_, clock_);
  EXPECT_EQ(append(*log, "a").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(run(log->tail()).error().code, ErrorCode::kUnavailable);
  store_.set_plan({});
  EXPECT_EQ(append(*log, "b").value().position, 1);
}

// Lists leave out what was written last, as stores did that are consistent in the end only.
class LateList final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Task<Result<storage::ListPage>> list(std::string prefix, std::string after,
                                       std::size_t limit) override {
    auto page = co_await inner().list(std::move(prefix), std::move(after), limit);
    if (page && !page->more && !page->objects.empty()) page->objects.pop_back();
    co_return page;
  }
};

TEST_F(ObjectLogTest, AListThatIsLateIsNotTrusted) {
  auto log = open_log(memory_, clock_);
  for (const char* entry : {"a", "b", "c"}) ASSERT_TRUE(append(*log, entry));
  LateList late(memory_);
  auto other = open_log(late, clock_);
  EXPECT_EQ(run(other->tail()).value(), 3);
  EXPECT_EQ(append(*other, "d").value().position, 4);
  EXPECT_EQ(stored(*other, 3), "4:d ");
}

TEST_F(ObjectLogTest, AStoreThatHidesWhatItSaysIsThereIsGivenUp) {
  auto log = open_log(store_, clock_);
  store_.set_plan([](const StoreCall& call) {
    if (call.operation != StoreOperation::kPut) return StoreFault{};
    return StoreFault{.error = Error{ErrorCode::kConflict, "exists"}};
  });
  EXPECT_EQ(append(*log, "a").error().code, ErrorCode::kUnavailable);
}

// A store that comes back as an older copy: what was read before must not hide it.
TEST_F(ObjectLogTest, AfterAFailureTheEndIsLookedForAnew) {
  auto log = open_log(store_, clock_);
  for (const char* entry : {"a", "b"}) ASSERT_TRUE(append(*log, entry));
  store_.set_plan(
      [](const StoreCall&) { return StoreFault{.error = Error{ErrorCode::kUnavailable, "down"}}; });
  EXPECT_FALSE(run(log->tail()));
  ASSERT_TRUE(run(memory_.remove({object_log::key(object_log::kEntries, 2)})));
  store_.set_plan({});
  EXPECT_EQ(run(log->tail()).value(), 1);
  EXPECT_EQ(stored(*log), "1:a ");
}

TEST_F(ObjectLogTest, WhoOnlyReadsBeginsNoLog) {
  auto none = thread_.try_open(store_, "file:x", clock_, {.missing = MissingLog::kFail});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "file:x holds no metadata log: give the store that a broker wrote to");
  auto log = open_log(store_, clock_);
  ASSERT_TRUE(append(*log, "a"));
  const std::size_t puts = store_.calls(StoreOperation::kPut);
  auto reader = thread_.try_open(store_, "file:x", clock_, {.missing = MissingLog::kFail});
  ASSERT_TRUE(reader) << reader.error().to_string();
  EXPECT_EQ(stored(**reader), "1:a ");
  EXPECT_EQ(store_.calls(StoreOperation::kPut), puts);
}

// Another appended since the last look: to look costs less than to write in vain.
TEST_F(ObjectLogTest, LooksBeforeItWritesWhenItHasNotLookedForLong) {
  ManualClock clock;
  auto log = open_log(store_, clock);
  ASSERT_EQ(append(*log, "a").value().position, 1);
  auto other = open_log(memory_, clock_);
  ASSERT_EQ(append(*other, "b").value().position, 2);
  const std::size_t puts = store_.calls(StoreOperation::kPut);
  clock.advance(seconds(2));
  EXPECT_EQ(append(*log, "c").value().position, 3);
  EXPECT_EQ(store_.calls(StoreOperation::kPut) - puts, 1U);
  ASSERT_EQ(append(*other, "d").value().position, 4);
  EXPECT_EQ(append(*log, "e").value().position, 5);
  EXPECT_EQ(store_.calls(StoreOperation::kPut) - puts, 3U);
}

TEST_F(ObjectLogTest, WaitingCostsLittleWhenNothingHappens) {
  ManualClock clock;
  auto log = open_log(store_, clock);
  ASSERT_EQ(append(*log, "a").value().position, 1);
  const std::size_t puts = store_.calls(StoreOperation::kPut);
  const std::size_t before = store_.calls();
  bool ended = false;
  boost::asio::co_spawn(loop, log->wait_past(1, clock.now() + seconds(60)),
                        [&](const std::exception_ptr&) { ended = true; });
  for (int i = 0; i < 6200 && !ended; ++i) {
    loop.restart();
    loop.run_for(std::chrono::microseconds(200));
    clock.advance(milliseconds(10));
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(store_.calls(StoreOperation::kPut), puts);
  EXPECT_GE(store_.calls() - before, 5U);
  EXPECT_LE(store_.calls() - before, 30U);
}

TEST(ObjectLogFormat, DamageIsFound) {
  const std::vector<Slice> entries = {Slice::copy_of("one"), Slice::copy_of("two")};
  const Slice good = object_log::encode_group({7, 8}, 5, entries).flatten();
  auto group = object_log::decode_group(good, 5);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->writer, (Uuid{7, 8}));
  EXPECT_EQ(group->last(), 6);
  EXPECT_EQ(as_text(group->entries[1].bytes.bytes()), "two");
  EXPECT_EQ(object_log::decode_group(good, 6).error().code, ErrorCode::kCorrupt);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string damaged(as_text(good.bytes()));
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(object_log::decode_group(Slice::copy_of(damaged), 5)) << i;
    EXPECT_FALSE(object_log::decode_group(good.sub(0, i), 5)) << i;
  }
}

TEST(ObjectLogFormat, KeysAreInTheOrderOfPositions) {
  EXPECT_EQ(object_log::key(object_log::kEntries, 42), "log/entries/00000000000000000042");
  EXPECT_EQ(object_log::number_of(object_log::kEntries, "log/entries/00000000000000000042"), 42);
  for (const char* other : {"log/entries/42", "log/entries/0000000000000000004x", "data/x",
                            "log/entries/000000000000000000421"}) {
    EXPECT_EQ(object_log::number_of(object_log::kEntries, other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace weir::metadata

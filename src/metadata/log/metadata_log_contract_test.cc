#include "metadata/log/metadata_log_contract.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <deque>
#include <map>
#include <thread>

namespace weir::metadata {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Entries = std::vector<LogEntry>;

// "1:a 2:b"
static std::string show(const Entries& entries) {
  std::string out;
  for (const LogEntry& entry : entries) {
    if (!out.empty()) out += ' ';
    out += std::to_string(entry.position) + ":" + std::string(as_text(entry.bytes.bytes()));
  }
  return out;
}

static std::string show(const Result<Entries>& entries) {
  return entries ? show(*entries) : entries.error().to_string();
}

template <typename T>
static ErrorCode code_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorCode::kInternal : result.error().code;
}

Position MetadataLogContract::append(MetadataLog& log, std::string_view entry, Position known) {
  auto appended = run(log.append(Slice::copy_of(entry), known));
  EXPECT_TRUE(appended) << appended.error().to_string();
  return appended ? appended->position : -1;
}

void MetadataLogContract::snapshot_and_trim(Position upto) {
  auto recorded = run(log_->record_snapshot({upto, "snapshots/" + std::to_string(upto)}));
  ASSERT_TRUE(recorded) << recorded.error().to_string();
  auto trimmed = run(log_->trim(upto));
  ASSERT_TRUE(trimmed) << trimmed.error().to_string();
}

bool MetadataLogContract::settle(const std::function<bool()>& done) {
  for (int round = 0; round < 2000 && !done(); ++round) {
    loop_.restart();
    loop_.run_for(milliseconds(1));
    clock_.advance(milliseconds(1));
  }
  return done();
}

TEST_P(MetadataLogContract, StartsEmpty) {
  EXPECT_EQ(run(log_->tail()).value(), 0);
  EXPECT_EQ(show(run(log_->read(0, 1_MiB))), "");
  EXPECT_EQ(run(log_->latest_snapshot()).value().position, 0);
  EXPECT_EQ(run(log_->latest_snapshot()).value().manifest_key, "");
}

TEST_P(MetadataLogContract, GivesPositionsFromOneWithoutHoles) {
  EXPECT_EQ(append(*log_, "a"), 1);
  EXPECT_EQ(append(*log_, "b"), 2);
  EXPECT_EQ(append(*log_, "c"), 3);
  EXPECT_EQ(run(log_->tail()).value(), 3);
  EXPECT_EQ(show(run(log_->read(0, 1_MiB))), "1:a 2:b 3:c");
  EXPECT_EQ(show(run(log_->read(1, 1_MiB))), "2:b 3:c");
  EXPECT_EQ(show(run(log_->read(3, 1_MiB))), "");
  EXPECT_EQ(show(run(log_->read(9, 1_MiB))), "");
}

TEST_P(MetadataLogContract, KeepsEveryByte) {
  std::string entry(3'000'000, '\0');
  for (std::size_t i = 0; i < entry.size(); ++i) entry[i] = static_cast<char>(i * 7 + i / 251);
  append(*log_, "small");
  append(*log_, entry);
  auto back = run(open()->read(1, 1));
  ASSERT_TRUE(back) << back.error().to_string();
  ASSERT_EQ(back->size(), 1U);
  EXPECT_EQ(as_text(back->front().bytes.bytes()), entry);
}

TEST_P(MetadataLogContract, RefusesBadArguments) {
  EXPECT_EQ(code_of(run(log_->append(Slice(), 0))), ErrorCode::kRefused);
  EXPECT_EQ(code_of(run(log_->append(Slice::copy_of("a"), -1))), ErrorCode::kRefused);
  std::string large(kMaxEntryBytes + 1, 'x');
  EXPECT_EQ(code_of(run(log_->append(Slice::copy_of(large), 0))), ErrorCode::kRefused);
  EXPECT_EQ(code_of(run(log_->read(-1, 1_MiB))), ErrorCode::kInvalid);
  EXPECT_EQ(run(log_->tail()).value(), 0);
  large.pop_back();
  EXPECT_EQ(append(*log_, large), 1);
}

TEST_P(MetadataLogContract, AppendBringsTheEntriesSinceKnown) {
  auto other = open();
  append(*log_, "a");
  append(*other, "b");
  auto all = run(log_->append(Slice::copy_of("c"), 0));
  EXPECT_EQ(show(all.value().entries), "1:a 2:b 3:c");
  auto some = run(other->append(Slice::copy_of("d"), 2));
  EXPECT_EQ(show(some.value().entries), "3:c 4:d");
  auto own = run(log_->append(Slice::copy_of("e"), 4));
  EXPECT_EQ(own.value().position, 5);
  EXPECT_EQ(show(own.value().entries), "5:e");
}

// A broker whose log was restored to an older state knows a position that the log has not reached.
TEST_P(MetadataLogContract, AppendBringsNothingWhenKnownIsNotBeforeIt) {
  append(*log_, "a");
  auto equal = run(log_->append(Slice::copy_of("b"), 2));
  EXPECT_EQ(equal.value().position, 2);
  EXPECT_EQ(show(equal.value().entries), "");
  auto beyond = run(log_->append(Slice::copy_of("c"), 70));
  EXPECT_EQ(beyond.value().position, 3);
  EXPECT_EQ(show(beyond.value().entries), "");
}

TEST_P(MetadataLogContract, AppendBringsAPrefixWhenThereIsMuch) {
  const std::string mebibyte(1_MiB, 'm');
  for (int i = 0; i < 6; ++i) append(*log_, mebibyte, i);
  auto appended = run(log_->append(Slice::copy_of("last"), 1));
  ASSERT_TRUE(appended);
  EXPECT_EQ(appended->position, 7);
  ASSERT_EQ(appended->entries.size(), 4U);  // kAppendAnswerBytes
  EXPECT_EQ(appended->entries.front().position, 2);
  EXPECT_EQ(appended->entries.back().position, 5);
}

TEST_P(MetadataLogContract, ReadStaysWithinItsLimitButMovesOn) {
  for (const char* entry : {"aaaa", "bbbb", "cccc", "dddddddddddd", "e"}) append(*log_, entry);
  EXPECT_EQ(show(run(log_->read(0, 8))), "1:aaaa 2:bbbb");
  EXPECT_EQ(show(run(log_->read(0, 11))), "1:aaaa 2:bbbb");
  EXPECT_EQ(show(run(log_->read(2, 12))), "3:cccc");
  EXPECT_EQ(show(run(log_->read(3, 5))), "4:dddddddddddd");
  EXPECT_EQ(show(run(log_->read(3, 0))), "4:dddddddddddd");
  EXPECT_EQ(show(run(log_->read(4, 5))), "5:e");
}

TEST_P(MetadataLogContract, OtherHandlesSeeWhatWasAnswered) {
  auto other = open();
  for (Position i = 1; i <= 20; ++i) {
    MetadataLog& writer = i % 2 == 0 ? *log_ : *other;
    MetadataLog& reader = i % 2 == 0 ? *other : *log_;
    ASSERT_EQ(append(writer, "x", i - 1), i);
    ASSERT_EQ(run(reader.tail()).value(), i);
    ASSERT_EQ(run(reader.read(i - 1, 1)).value().size(), 1U);
  }
}

TEST_P(MetadataLogContract, KeepsTheSnapshotWithTheGreatestPosition) {
  for (int i = 0; i < 5; ++i) append(*log_, "x");
  ASSERT_TRUE(run(log_->record_snapshot({3, "snapshots/three"})));
  ASSERT_TRUE(run(log_->record_snapshot({2, "snapshots/two"})));
  ASSERT_TRUE(run(log_->record_snapshot({3, "snapshots/again"})));
  EXPECT_EQ(run(open()->latest_snapshot()).value().manifest_key, "snapshots/three");
  ASSERT_TRUE(run(log_->record_snapshot({5, "snapshots/five"})));
  EXPECT_EQ(run(log_->latest_snapshot()).value().manifest_key, "snapshots/five");
  EXPECT_EQ(run(log_->latest_snapshot()).value().position, 5);
}

TEST_P(MetadataLogContract, RefusesSnapshotsThatCannotBe) {
  append(*log_, "x");
  EXPECT_EQ(code_of(run(log_->record_snapshot({2, "snapshots/beyond"}))), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(run(log_->record_snapshot({0, "snapshots/zero"}))), ErrorCode::kInvalid);
  EXPECT_EQ(code_of(run(log_->record_snapshot({1, ""}))), ErrorCode::kInvalid);
  EXPECT_EQ(run(log_->latest_snapshot()).value().position, 0);
}

TEST_P(MetadataLogContract, TrimsOnlyBehindASnapshot) {
  for (int i = 0; i < 4; ++i) append(*log_, "x");
  EXPECT_EQ(code_of(run(log_->trim(1))), ErrorCode::kInvalid);
  ASSERT_TRUE(run(log_->record_snapshot({2, "snapshots/two"})));
  EXPECT_EQ(code_of(run(log_->trim(3))), ErrorCode::kInvalid);
  EXPECT_EQ(run(log_->read(0, 1_MiB)).value().size(), 4U);
  EXPECT_TRUE(run(log_->trim(2)));
  EXPECT_TRUE(run(log_->trim(1)));  // already done
  EXPECT_TRUE(run(log_->trim(0)));
  EXPECT_EQ(code_of(run(log_->read(0, 1_MiB))), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(run(log_->read(1, 1_MiB))), ErrorCode::kNotFound);
  EXPECT_EQ(show(run(log_->read(2, 1_MiB))), "3:x 4:x");
}

TEST_P(MetadataLogContract, GoesOnAfterAllIsTrimmed) {
  for (int i = 0; i < 3; ++i) append(*log_, "x");
  snapshot_and_trim(3);
  auto other = open();
  EXPECT_EQ(run(other->tail()).value(), 3);
  EXPECT_EQ(show(run(other->read(3, 1_MiB))), "");
  EXPECT_EQ(code_of(run(other->read(2, 1_MiB))), ErrorCode::kNotFound);
  EXPECT_EQ(append(*other, "y"), 4);
  auto behind = run(log_->append(Slice::copy_of("z"), 1));
  EXPECT_EQ(behind.value().position, 5);
  EXPECT_EQ(show(behind.value().entries), "");  // not with a hole
  EXPECT_EQ(show(run(log_->read(3, 1_MiB))), "4:y 5:z");
}

TEST_P(MetadataLogContract, WaitReturnsAtOnceWhenTheLogIsLonger) {
  append(*log_, "x");
  run(log_->wait_past(0, clock_.now() + seconds(3600)));
}

TEST_P(MetadataLogContract, WaitEndsAtItsDeadline) {
  append(*log_, "x");
  bool woken = false;
  boost::asio::co_spawn(loop_, log_->wait_past(1, clock_.now() + seconds(5)),
                        [&](const std::exception_ptr&) { woken = true; });
  loop_.restart();
  loop_.run_for(milliseconds(5));
  EXPECT_FALSE(woken);
  clock_.advance(seconds(5));
  EXPECT_TRUE(settle([&] { return woken; }));
}

TEST_P(MetadataLogContract, AnAppendWakesThoseWhoWaitForIt) {
  auto other = open();
  append(*log_, "x");
  ASSERT_EQ(run(other->tail()).value(), 1);
  const MonoTime far = clock_.now() + seconds(3600);
  int woken = 0;
  bool woken_later = false;
  for (MetadataLog* log : {log_.get(), other.get(), other.get()}) {
    boost::asio::co_spawn(loop_, log->wait_past(1, far),
                          [&](const std::exception_ptr&) { ++woken; });
  }
  boost::asio::co_spawn(loop_, log_->wait_past(2, far),
                        [&](const std::exception_ptr&) { woken_later = true; });
  loop_.restart();
  loop_.run_for(milliseconds(5));
  EXPECT_EQ(woken, 0);
  append(*log_, "y");
  EXPECT_TRUE(settle([&] { return woken == 3; }));
  EXPECT_FALSE(woken_later);
  append(*other, "z");
  EXPECT_TRUE(settle([&] { return woken_later; }));
}

TEST_P(MetadataLogContract, CanBeAskedForItsClusterId) {
  EXPECT_EQ(run(log_->cluster_id({})).value(), Uuid());
  EXPECT_EQ(run(open()->cluster_id({})).value(), Uuid());
  EXPECT_EQ(run(log_->cluster_id({1, 2})).value(), (Uuid{1, 2}));
  EXPECT_EQ(run(open()->cluster_id({})).value(), (Uuid{1, 2}));
}

TEST_P(MetadataLogContract, TheFirstClusterIdStays) {
  const Uuid first{1, 2};
  EXPECT_EQ(run(log_->cluster_id(first)).value(), first);
  EXPECT_EQ(run(log_->cluster_id({3, 4})).value(), first);
  EXPECT_EQ(run(open()->cluster_id({5, 6})).value(), first);
}

namespace {

constexpr std::size_t kMany = 200;

struct Written {
  std::map<Position, std::string> entries;
  std::string failure;
};

// One appender: `count` entries, each with what it knows, checking what every answer brings.
Task<void> write_many(std::shared_ptr<MetadataLog> log, std::string name, int count, Written& out) {
  Position known = 0;
  for (int i = 0; i < count; ++i) {
    const std::string entry = name + "." + std::to_string(i);
    auto appended = co_await log->append(Slice::copy_of(entry), known);
    if (!appended) {
      out.failure = appended.error().to_string();
      co_return;
    }
    for (const LogEntry& brought : appended->entries) {
      if (brought.position != ++known)
        out.failure = "a hole before " + std::to_string(brought.position);
    }
    out.entries[appended->position] = entry;
    // Of many it may bring a beginning: a thread that starts late is that far behind.
    if (known != appended->position && appended->entries.size() >= kMany) continue;
    if (known != appended->position) out.failure = "the answer does not end with the own entry";
    if (as_text(appended->entries.back().bytes.bytes()) != entry) out.failure = "another's bytes";
  }
}

}  // namespace

TEST_P(MetadataLogContract, ManyTasksAndThreadsMakeOneOrder) {
  constexpr int kThreads = 3;
  constexpr int kTasks = 5;
  constexpr int kEntries = 40;
  std::vector<Written> written(kThreads * kTasks);
  std::vector<std::thread> threads;
  // A log's own thread may still be within the call that woke a loop: loops outlive the logs.
  static std::deque<boost::asio::io_context> loops;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t, &loop = loops.emplace_back(), log = t == 0 ? log_ : open()] {
      for (int i = t * kTasks; i < (t + 1) * kTasks; ++i) {
        auto task = write_many(log, "w" + std::to_string(i), kEntries,
                               written[static_cast<std::size_t>(i)]);
        boost::asio::co_spawn(loop, std::move(task), boost::asio::detached);
      }
      loop.run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<Position, std::string> all;
  for (Written& one : written) {
    EXPECT_EQ(one.failure, "");
    EXPECT_EQ(one.entries.size(), static_cast<std::size_t>(kEntries));
    all.merge(one.entries);
  }
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kThreads * kTasks * kEntries));
  Position last = 0;
  while (true) {
    auto stored = run(log_->read(last, 64_MiB));
    ASSERT_TRUE(stored) << stored.error().to_string();
    if (stored->empty()) break;
    for (const LogEntry& entry : *stored) {
      ASSERT_EQ(entry.position, ++last);
      EXPECT_EQ(as_text(entry.bytes.bytes()), all[entry.position]);
    }
  }
  EXPECT_EQ(last, static_cast<Position>(all.size()));
}

}  // namespace weir::metadata

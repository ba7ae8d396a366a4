// The figures that the state machine promises: applying, freezing, memory.
#include "metadata/state/frozen_state.h"
#include "metadata/state/test_log.h"
#include "runtime/rng.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <string>

namespace weir::metadata {
namespace {

constexpr int kTopics = 10;
constexpr int kPartitionsPerTopic = 1000;
constexpr int kRunsPerCommit = 1600;
constexpr int kExtents = 1'000'000;

// One-batch runs that go round all partitions; where they are idempotent, each partition has a
// producer.
class Commits {
 public:
  explicit Commits(bool idempotent)
      : idempotent_(idempotent), sequences_(kTopics * kPartitionsPerTopic) {
    for (int i = 0; i < kTopics; ++i) topics_.push_back(topic_id(fmt::format("topic-{}", i)));
  }

  Command next() {
    ObjectBuilder builder(object_++);
    for (int i = 0; i < kRunsPerCommit; ++i) {
      auto at = static_cast<std::size_t>(next_++ % (kTopics * kPartitionsPerTopic));
      int records = 1 + static_cast<int>(rng_.below(50));
      builder.run(topics_[at / kPartitionsPerTopic],
                  static_cast<PartitionIndex>(at % kPartitionsPerTopic));
      if (idempotent_) {
        builder.batch(records, 1000 + static_cast<ProducerId>(at % 500), 0, sequences_[at]);
        sequences_[at] += records;
      } else {
        builder.batch(records, TestLog::kStart + object_);
      }
    }
    return builder;
  }

 private:
  bool idempotent_;
  Rng rng_{1};
  std::vector<TopicId> topics_;
  std::vector<std::int32_t> sequences_;
  std::int64_t object_ = 0;
  int next_ = 0;
};

void create_topics(TestLog& log) {
  for (int i = 0; i < kTopics; ++i)
    log.create_topic(fmt::format("topic-{}", i), kPartitionsPerTopic);
}

// A million extents in ten thousand partitions.
std::vector<LogEntry> commits_of(bool idempotent) {
  TestLog log;
  create_topics(log);
  RecordHeader header = log.header();
  Commits commits(idempotent);
  std::vector<LogEntry> entries;
  for (int i = 0; i < kExtents / kRunsPerCommit; ++i) {
    auto encoded = encode_command(commits.next());
    header.time = log.now;
    Position position = log.state.position() + 1 + i;
    entries.push_back({position, encode_record(header, 1, *encoded)});
    ++header.sequence;
  }
  return entries;
}

void apply_all(TestLog& log, const std::vector<LogEntry>& entries) {
  for (const LogEntry& entry : entries) {
    if (!log.state.apply(entry, -1)) std::abort();
    static_cast<void>(log.state.publish(log.readers));
  }
}

// Decoding, applying and publishing the entries of others, as at start-up. Target: a million
// extents a second.
void BM_Apply(benchmark::State& state) {
  std::vector<LogEntry> entries = commits_of(state.range(0) != 0);
  std::size_t log_bytes = 0;
  for (const LogEntry& entry : entries) log_bytes += entry.bytes.size();
  std::size_t memory = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto log = std::make_unique<TestLog>();
    create_topics(*log);
    std::size_t before = mallinfo2().uordblks;
    state.ResumeTiming();
    apply_all(*log, entries);
    state.PauseTiming();
    memory = mallinfo2().uordblks - before;
    log.reset();
    state.ResumeTiming();
  }
  auto extents = static_cast<double>(entries.size() * kRunsPerCommit);
  state.counters["extents/s"] =
      benchmark::Counter(extents, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["log_bytes/extent"] = static_cast<double>(log_bytes) / extents;
  state.counters["memory_bytes/extent"] = static_cast<double>(memory) / extents;
}
BENCHMARK(BM_Apply)->ArgName("idempotent")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// What a snapshot holds the coordinator up for, at a million extents in ten thousand partitions.
// Target: 5 ms.
void BM_Freeze(benchmark::State& state) {
  TestLog log;
  create_topics(log);
  apply_all(log, commits_of(state.range(0) != 0));
  for (auto _ : state) {
    FrozenState frozen = freeze(log.state);
    benchmark::DoNotOptimize(frozen);
    state.PauseTiming();
    frozen = {};
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Freeze)->ArgName("idempotent")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::metadata

// The figures that a coordinator promises on the embedded backends: a commit to its answer, and a
// start from a snapshot and the log behind it. They depend on the disk under the folder for
// temporary files.
#include "metadata/log/sqlite_log.h"
#include "metadata/log_coordinator.h"
#include "metadata/state/test_log.h"
#include "runtime/executors.h"
#include "runtime/log.h"
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"
#include "storage/open_object_store.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace weir::metadata {
namespace {

constexpr int kRunsPerCommit = 1600;
constexpr int kTopics = 10;
constexpr int kPartitionsPerTopic = 1000;
constexpr int kExtents = 1'000'000;

// What lies on the disk, and the threads; brokers come and go.
class Bench {
 public:
  Bench() {
    log::configure({.level = log::Level::kError});
    log_ = SqliteLog::open((folder_.path() / "metadata.db").string(), clock_).value();
    store_ = storage::open_object_store(fmt::format("file:{}", (folder_.path() / "o").string()),
                                        clock_, executors_.blocking())
                 .value();
  }
  ~Bench() {
    stop();
    executors_.stop();
  }

  void start(std::uint64_t snapshot_after) {
    LogCoordinatorOptions options;
    options.snapshots.log_entries = snapshot_after;
    snapshots_ = std::make_unique<SnapshotStore>(*store_, *log_);
    coordinator_ =
        std::make_unique<LogCoordinator>(*log_, snapshots_.get(), clock_, Rng(1),
                                         executors_.coordinator(), executors_.blocking(), options);
    coordinator_->start();
    if (!run(coordinator_->wait_registered())) std::abort();
  }
  void stop() {
    if (coordinator_) run(coordinator_->stop());
    coordinator_.reset();
  }
  void create_topic(const std::string& name, std::int32_t partitions) {
    CreateTopics command;
    command.topics.push_back(
        {.name = name, .id = topic_id(name), .partitions = partitions, .configs = {}});
    if (!run(coordinator_->submit(command))) std::abort();
  }
  // One-batch runs that go round the partitions of the topics.
  Command next_commit(int topics, int partitions) {
    ObjectBuilder builder({coordinator_->broker_epoch(), object_++});
    for (int i = 0; i < kRunsPerCommit; ++i) {
      int at = next_++ % (topics * partitions);
      builder.run(topic_id(fmt::format("topic-{}", at / partitions)), at % partitions).batch(50);
    }
    return builder;
  }
  void commit(Command command) {
    if (!run(coordinator_->submit(std::move(command)))) std::abort();
  }
  template <typename T>
  T run(Task<T> task) {
    return run_task(loop_, std::move(task));
  }
  void run(Task<void> task) { run_task(loop_, std::move(task)); }

  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] MetadataLog& log() { return *log_; }

 private:
  TemporaryFolder folder_;
  SystemClock clock_;
  Executors executors_{1, 4};
  boost::asio::io_context loop_;
  std::unique_ptr<MetadataLog> log_;
  std::unique_ptr<storage::ObjectStore> store_;
  std::unique_ptr<SnapshotStore> snapshots_;
  std::unique_ptr<LogCoordinator> coordinator_;
  std::int64_t object_ = 0;
  int next_ = 0;
};

// 1,600 batches in 1,600 partitions, from the command to its offsets. Target: 10 ms.
void BM_CommitObject(benchmark::State& state) {
  Bench bench;
  bench.start(1'000'000);
  bench.create_topic("topic-0", kRunsPerCommit);
  std::vector<double> took;
  for (auto _ : state) {
    state.PauseTiming();
    Command command = bench.next_commit(1, kRunsPerCommit);
    state.ResumeTiming();
    MonoTime begin = bench.clock().now();
    bench.commit(std::move(command));
    took.push_back(std::chrono::duration<double, std::milli>(bench.clock().now() - begin).count());
  }
  std::sort(took.begin(), took.end());
  state.counters["p50_ms"] = took[took.size() / 2];
  state.counters["p99_ms"] = took[took.size() * 99 / 100];
}
BENCHMARK(BM_CommitObject)->MinTime(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// A start with a million extents in ten thousand partitions: from the whole log, or from a snapshot
// and some of the log. Target: 2 s.
void BM_StartUp(benchmark::State& state) {
  Bench bench;
  const bool snapshot = state.range(0) != 0;
  constexpr std::uint64_t kCommits = kExtents / kRunsPerCommit;
  constexpr std::uint64_t kNever = 1'000'000;
  bench.start(snapshot ? kCommits - 20 : kNever);
  for (int i = 0; i < kTopics; ++i)
    bench.create_topic(fmt::format("topic-{}", i), kPartitionsPerTopic);
  for (std::uint64_t i = 0; i < kCommits; ++i)
    bench.commit(bench.next_commit(kTopics, kPartitionsPerTopic));
  while (snapshot && bench.run(bench.log().latest_snapshot()).value().position == 0) {
    std::this_thread::yield();
  }
  bench.stop();
  for (auto _ : state) {
    bench.start(kNever);
    state.PauseTiming();
    bench.stop();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_StartUp)
    ->ArgName("snapshot")
    ->Arg(0)
    ->Arg(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::metadata

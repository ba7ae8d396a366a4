// What an append to the sqlite backend costs, with the disk's own speed beside it. Figures depend
// on the disk under the folder for temporary files.
#include "metadata/log/sqlite_log.h"
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"

#include <benchmark/benchmark.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace weir::metadata {
namespace {

constexpr int kAppendsPerTask = 20;

// Latencies in microseconds.
void report(benchmark::State& state, std::vector<double>& latencies) {
  state.SetItemsProcessed(static_cast<std::int64_t>(latencies.size()));
  if (latencies.empty()) return;
  std::sort(latencies.begin(), latencies.end());
  const std::size_t count = latencies.size();
  state.counters["p50_us"] = latencies[count / 2];
  state.counters["p99_us"] = latencies[count * 99 / 100];
  state.counters["max_us"] = latencies.back();
}

double micros(Duration elapsed) { return static_cast<double>(elapsed.count()) / 1000.0; }

Task<void> append_some(SqliteLog& log, const Clock& clock, Slice entry, Position& known,
                       std::vector<double>& latencies, bool& failed) {
  for (int i = 0; i < kAppendsPerTask; ++i) {
    const MonoTime start = clock.now();
    auto appended = co_await log.append(entry, known);
    if (!appended) {
      failed = true;
      co_return;
    }
    latencies.push_back(micros(clock.now() - start));
    known = std::max(known, appended->position);
  }
}

// Arguments: bytes of an entry, tasks that append at once.
void BM_SqliteAppend(benchmark::State& state) {
  TemporaryFolder folder;
  SystemClock clock;
  boost::asio::io_context loop;
  auto log = SqliteLog::open((folder.path() / "metadata.db").string(), clock).value();
  const Slice entry = Slice::copy_of(std::string(static_cast<std::size_t>(state.range(0)), 'e'));
  std::vector<double> latencies;
  Position known = 0;
  bool failed = false;
  for (auto _ : state) {
    for (int task = 0; task < state.range(1); ++task) {
      boost::asio::co_spawn(loop, append_some(*log, clock, entry, known, latencies, failed),
                            boost::asio::detached);
    }
    loop.restart();
    loop.run();
    if (failed) state.SkipWithError("an append failed");
  }
  report(state, latencies);
}
BENCHMARK(BM_SqliteAppend)
    ->ArgsProduct({{1, 30'000}, {1, 16}})
    ->ArgNames({"bytes", "tasks"})
    ->MinTime(2)
    ->UseRealTime();

// One write and fdatasync of a file that has its size already: what no durable append can beat.
void BM_WriteAndSync(benchmark::State& state) {
  TemporaryFolder folder;
  SystemClock clock;
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'e');
  const int file = ::open((folder.path() / "file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  constexpr off_t kSize = 4 << 20;
  bool failed = file < 0 || ::posix_fallocate(file, 0, kSize) != 0 || ::fsync(file) != 0;
  std::vector<double> latencies;
  off_t at = 0;
  for (auto _ : state) {
    const MonoTime start = clock.now();
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), at);
    failed |= written != static_cast<ssize_t>(bytes.size()) || ::fdatasync(file) != 0;
    latencies.push_back(micros(clock.now() - start));
    at = (at + written) % (kSize - written);
    if (failed) state.SkipWithError("the file cannot be written");
  }
  ::close(file);
  report(state, latencies);
}
BENCHMARK(BM_WriteAndSync)->Arg(1)->Arg(30'000)->ArgName("bytes")->MinTime(1)->UseRealTime();

// What a reader that replays the log gets.
void BM_SqliteRead(benchmark::State& state) {
  TemporaryFolder folder;
  SystemClock clock;
  boost::asio::io_context loop;
  auto log = SqliteLog::open((folder.path() / "metadata.db").string(), clock).value();
  const Slice entry = Slice::copy_of(std::string(static_cast<std::size_t>(state.range(0)), 'e'));
  std::vector<double> latencies;
  Position known = 0;
  bool failed = false;
  for (int i = 0; i < 100; ++i) {
    boost::asio::co_spawn(loop, append_some(*log, clock, entry, known, latencies, failed),
                          boost::asio::detached);
  }
  loop.run();
  std::int64_t bytes = 0;
  std::int64_t entries = 0;
  for (auto _ : state) {
    for (Position at = 0;;) {
      auto read = run_task(loop, log->read(at, 4_MiB));
      if (!read) state.SkipWithError("a read failed");
      if (!read || read->empty()) break;
      at = read->back().position;
      entries += static_cast<std::int64_t>(read->size());
      for (const LogEntry& one : *read) bytes += static_cast<std::int64_t>(one.bytes.size());
    }
  }
  state.SetBytesProcessed(bytes);
  state.SetItemsProcessed(entries);
}
BENCHMARK(BM_SqliteRead)->Arg(300)->Arg(30'000)->ArgName("bytes")->UseRealTime();

}  // namespace
}  // namespace weir::metadata

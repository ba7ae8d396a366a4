// What three brokers get out of the postgres backend together, with a server of its own on this
// machine: appends and runs of partitions per second. Figures depend on the disk under the folder
// for temporary files (BM_WriteAndSync shows it).
#include "metadata/log/postgres_log.h"
#include "metadata/log/postgres_test_server.h"
#include "metadata/state/record.h"
#include "metadata/state/test_log.h"
#include "runtime/log.h"
#include "runtime/test_loop.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

namespace weir::metadata {
namespace {

constexpr int kBrokers = 3;
constexpr int kAppendsPerRound = 100;

// One object that holds a batch of each of so many partitions.
Slice commit_entry(int runs) {
  ObjectBuilder object(1);
  const TopicId topic = topic_id("bench");
  for (int partition = 0; partition < runs; ++partition) object.run(topic, partition).batch(10);
  const auto command = encode_command(Command(object)).value();
  return encode_record({.broker = 1, .epoch = 1}, 1, command);
}

class Broker {
 public:
  Broker(const std::string& url, SystemClock& clock)
      : clock_(clock), log_(PostgresLog::open(url, clock).value()) {}

  // One append after the other, as an appender does; each brings what the others wrote.
  Task<bool> append_some(Slice entry) {
    for (int i = 0; i < kAppendsPerRound; ++i) {
      const MonoTime start = clock_.now();
      auto appended = co_await log_->append(entry, known_);
      if (!appended) co_return false;
      known_ = appended->position;
      micros.push_back(static_cast<double>((clock_.now() - start).count()) / 1000.0);
    }
    co_return true;
  }
  bool round(const Slice& entry) { return run_task(loop_, append_some(entry)); }

  std::vector<double> micros;

 private:
  SystemClock& clock_;
  boost::asio::io_context loop_;
  std::unique_ptr<PostgresLog> log_;
  Position known_ = 0;
};

// Argument: runs of an entry.
void BM_PostgresThreeBrokers(benchmark::State& state) {
  if (!PostgresTestServer::available()) {
    state.SkipWithError("Debian's postgresql is not installed");
    return;
  }
  log::configure({.level = log::Level::kError});
  SystemClock clock;
  const std::string url = PostgresTestServer::shared().fresh_url();
  const Slice entry = commit_entry(static_cast<int>(state.range(0)));
  std::deque<Broker> brokers;
  for (int i = 0; i < kBrokers; ++i) brokers.emplace_back(url, clock);
  std::int64_t appends = 0;
  for (auto _ : state) {
    std::vector<std::thread> threads;
    std::atomic<bool> failed = false;
    for (Broker& broker : brokers) {
      threads.emplace_back([&] { failed = !broker.round(entry) || failed; });
    }
    for (std::thread& thread : threads) thread.join();
    if (failed) state.SkipWithError("an append failed");
    appends += std::int64_t{kBrokers} * kAppendsPerRound;
  }
  std::vector<double> micros;
  for (Broker& broker : brokers) {
    micros.insert(micros.end(), broker.micros.begin(), broker.micros.end());
  }
  std::sort(micros.begin(), micros.end());
  using benchmark::Counter;
  state.counters["entry_bytes"] = static_cast<double>(entry.size());
  state.counters["appends"] = Counter(static_cast<double>(appends), Counter::kIsRate);
  state.counters["runs"] = Counter(static_cast<double>(appends * state.range(0)), Counter::kIsRate);
  if (micros.empty()) return;
  state.counters["p50_us"] = micros[micros.size() / 2];
  state.counters["p99_us"] = micros[micros.size() * 99 / 100];
}
BENCHMARK(BM_PostgresThreeBrokers)->Arg(1)->Arg(1000)->ArgName("runs")->MinTime(3)->UseRealTime();

}  // namespace
}  // namespace weir::metadata

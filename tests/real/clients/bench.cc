// Throughput and latency as a librdkafka user sees them. Both print one line of JSON.
#include "client.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace weir::clients {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Latencies {
  Clock::time_point start = Clock::now();
  std::vector<float> milliseconds;
};

void report(rd_kafka_t* /*producer*/, const rd_kafka_message_t* message, void* opaque) {
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) die(rd_kafka_err2str(message->err));
  static_cast<Latencies*>(opaque)->milliseconds.push_back(
      static_cast<float>(rd_kafka_message_latency(message)) / 1000.0F);
}

double percentile(std::vector<float>& values, double part) {
  if (values.empty()) return 0;
  auto at =
      values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

// bench-produce BOOTSTRAP TOPIC RECORDS BYTES [KEY=VALUE...]
int bench_produce(const Arguments& arguments) {
  if (arguments.size() < 4) die("bench-produce BOOTSTRAP TOPIC RECORDS BYTES [KEY=VALUE...]");
  const std::size_t records = std::stoul(arguments[2]);
  const std::size_t bytes = std::stoul(arguments[3]);
  Latencies latencies;
  latencies.milliseconds.reserve(records);
  Handle producer = make_producer(arguments[0], settings_from(arguments, 4), report, &latencies);
  std::string value(bytes, 'x');
  std::uint64_t state = 88172645463325252ULL;  // bytes that do not compress, the same in each run
  for (char& one : value) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    one = static_cast<char>(state);
  }
  partition_count(producer.get(), arguments[1]);
  const auto start = Clock::now();
  for (std::size_t i = 0; i < records; ++i) {
    produce(producer.get(), arguments[1].c_str(), RD_KAFKA_PARTITION_UA, {}, value);
  }
  if (rd_kafka_flush(producer.get(), 120'000) != RD_KAFKA_RESP_ERR_NO_ERROR) die("flush timed out");
  const double seconds = seconds_since(start);
  std::printf("{\"mb_per_s\": %.1f, \"p50_ms\": %.1f, \"p99_ms\": %.1f}\n",
              static_cast<double>(records * bytes) / 1e6 / seconds,
              percentile(latencies.milliseconds, 0.5), percentile(latencies.milliseconds, 0.99));
  return 0;
}

// bench-consume BOOTSTRAP TOPIC RECORDS
int bench_consume(const Arguments& arguments) {
  if (arguments.size() != 3) die("bench-consume BOOTSTRAP TOPIC RECORDS");
  const std::size_t records = std::stoul(arguments[2]);
  Handle consumer =
      make_consumer(arguments[0], {{"group.id", "bench"}, {"enable.auto.commit", "false"}});
  Partitions assignment(rd_kafka_topic_partition_list_new(1));
  for (int i = 0; i < partition_count(consumer.get(), arguments[1]); ++i) {
    rd_kafka_topic_partition_list_add(assignment.get(), arguments[1].c_str(), i)->offset = 0;
  }
  const auto start = Clock::now();
  rd_kafka_assign(consumer.get(), assignment.get());
  Queue queue(rd_kafka_queue_get_consumer(consumer.get()));
  std::vector<rd_kafka_message_t*> batch(10'000);
  std::size_t seen = 0;
  std::size_t bytes = 0;
  while (seen < records) {
    ssize_t count = rd_kafka_consume_batch_queue(queue.get(), 1000, batch.data(), batch.size());
    for (ssize_t i = 0; i < count; ++i) {
      Message message(batch[static_cast<std::size_t>(i)]);
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) die(rd_kafka_message_errstr(message.get()));
      seen++;
      bytes += message->len;
    }
    if (seconds_since(start) > 120) die("records do not come");
  }
  std::printf("{\"mb_per_s\": %.1f}\n", static_cast<double>(bytes) / 1e6 / seconds_since(start));
  return 0;
}

}  // namespace weir::clients

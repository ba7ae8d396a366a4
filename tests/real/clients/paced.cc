// Latency at a steady rate: producers stamp their records with the machine's monotonic time,
// consumers look at how old they are. Both print one line of JSON with every tenth latency in
// milliseconds, without those of the first seconds.
#include "client.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>

namespace weir::clients {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kWarmUp = std::chrono::seconds(3);
constexpr std::size_t kEvery = 10;

class Latencies {
 public:
  void add(Clock::time_point sent, Clock::time_point done) {
    if (!first_) first_ = sent;
    if (sent < *first_ + kWarmUp || count_++ % kEvery != 0) return;
    milliseconds_.push_back(std::chrono::duration<double, std::milli>(done - sent).count());
  }
  void print() const {
    std::printf("{\"latencies_ms\": [");
    const char* separator = "";
    for (double one : milliseconds_) {
      std::printf("%s%.1f", separator, one);
      separator = ",";
    }
    std::printf("]}\n");
  }

 private:
  std::optional<Clock::time_point> first_;
  std::size_t count_ = 0;
  std::vector<double> milliseconds_;
};

Clock::time_point stamp_of(const rd_kafka_message_t& message) {
  Clock::rep stamp = 0;
  if (message.len < sizeof stamp) die("a record without a time");
  std::memcpy(&stamp, message.payload, sizeof stamp);
  return Clock::time_point(Clock::duration(stamp));
}

void report(rd_kafka_t* /*producer*/, const rd_kafka_message_t* message, void* opaque) {
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) die(rd_kafka_err2str(message->err));
  static_cast<Latencies*>(opaque)->add(stamp_of(*message), Clock::now());
}

}  // namespace

// paced-produce BOOTSTRAP TOPIC SECONDS RECORDS_PER_SECOND BYTES [KEY=VALUE...]
int paced_produce(const Arguments& arguments) {
  if (arguments.size() < 5) {
    die("paced-produce BOOTSTRAP TOPIC SECONDS RECORDS_PER_SECOND BYTES [KEY=VALUE...]");
  }
  const auto end = Clock::now() + std::chrono::seconds(std::stol(arguments[2]));
  const auto between = std::chrono::nanoseconds(1'000'000'000 / std::stol(arguments[3]));
  std::string value(std::max<std::size_t>(std::stoul(arguments[4]), sizeof(Clock::rep)), 'x');
  Latencies latencies;
  Handle producer = make_producer(arguments[0], settings_from(arguments, 5), report, &latencies);
  partition_count(producer.get(), arguments[1]);
  for (auto due = Clock::now(); due < end;) {
    for (const auto now = Clock::now(); due <= now; due += between) {
      const Clock::rep stamp = Clock::now().time_since_epoch().count();
      std::memcpy(value.data(), &stamp, sizeof stamp);
      produce(producer.get(), arguments[1].c_str(), RD_KAFKA_PARTITION_UA, {}, value);
    }
    rd_kafka_poll(producer.get(), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (rd_kafka_flush(producer.get(), 60'000) != RD_KAFKA_RESP_ERR_NO_ERROR) die("flush timed out");
  latencies.print();
  return 0;
}

// paced-consume BOOTSTRAP TOPIC SECONDS [KEY=VALUE...]: from the end of each partition
int paced_consume(const Arguments& arguments) {
  if (arguments.size() < 3) die("paced-consume BOOTSTRAP TOPIC SECONDS [KEY=VALUE...]");
  Settings settings = settings_from(arguments, 3);
  settings.emplace_back("group.id", "paced");
  settings.emplace_back("enable.auto.commit", "false");
  Handle consumer = make_consumer(arguments[0], settings);
  Partitions assignment(rd_kafka_topic_partition_list_new(1));
  for (int i = 0; i < partition_count(consumer.get(), arguments[1]); ++i) {
    rd_kafka_topic_partition_list_add(assignment.get(), arguments[1].c_str(), i)->offset =
        RD_KAFKA_OFFSET_END;
  }
  rd_kafka_assign(consumer.get(), assignment.get());
  Queue queue(rd_kafka_queue_get_consumer(consumer.get()));
  std::vector<rd_kafka_message_t*> batch(10'000);
  Latencies latencies;
  const auto end = Clock::now() + std::chrono::seconds(std::stol(arguments[2]));
  while (Clock::now() < end) {
    const ssize_t count = rd_kafka_consume_batch_queue(queue.get(), 1, batch.data(), batch.size());
    const auto now = Clock::now();
    for (ssize_t i = 0; i < count; ++i) {
      Message message(batch[static_cast<std::size_t>(i)]);
      if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) die(rd_kafka_message_errstr(message.get()));
      latencies.add(stamp_of(*message), now);
    }
  }
  latencies.print();
  return 0;
}

}  // namespace weir::clients

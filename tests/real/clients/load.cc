// A load that knows what was acknowledged, for the tests that kill brokers; and a dump of what is
// stored.
#include "client.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <map>
#include <thread>

namespace weir::clients {
namespace {

std::atomic<bool> g_stop = false;

void on_signal(int /*signal*/) { g_stop = true; }

// The part of a value that identifies it, without the padding.
int name_length(const rd_kafka_message_t& message) {
  std::string_view value(static_cast<const char*>(message.payload), message.len);
  return static_cast<int>(std::min(value.find('.'), value.size()));
}

// One line for each record whose fate is known: A acknowledged (partition, offset, value), or F
// given up (the value).
void report(rd_kafka_t* /*producer*/, const rd_kafka_message_t* message, void* /*opaque*/) {
  int length = name_length(*message);
  const char* value = static_cast<const char*>(message->payload);
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    std::printf("A %d %lld %.*s\n", message->partition, static_cast<long long>(message->offset),
                length, value);
  } else {
    std::printf("F %.*s %s\n", length, value, rd_kafka_err2name(message->err));
  }
}

}  // namespace

// load BOOTSTRAP TOPIC NAME PAUSE_US VALUE_BYTES [KEY=VALUE...]: sends NAME:PARTITION:COUNTER to
// every partition in turn until SIGTERM, then waits for what is under way. PAUSE_US is slept after
// each round of partitions; values are padded to VALUE_BYTES.
int load(const Arguments& arguments) {
  if (arguments.size() < 5) die("load BOOTSTRAP TOPIC NAME PAUSE_US VALUE_BYTES [KEY=VALUE...]");
  Settings settings = {{"message.timeout.ms", "60000"},
                       {"reconnect.backoff.ms", "20"},
                       {"reconnect.backoff.max.ms", "100"},
                       {"retry.backoff.ms", "20"},
                       {"message.send.max.retries", "1000000"}};
  for (std::size_t i = 5; i < arguments.size(); ++i) {
    std::size_t equals = arguments[i].find('=');
    settings.emplace_back(arguments[i].substr(0, equals), arguments[i].substr(equals + 1));
  }
  std::signal(SIGTERM, on_signal);
  Handle producer = make_producer(arguments[0], settings, report, nullptr);
  const int partitions = partition_count(producer.get(), arguments[1]);
  const auto pause = std::chrono::microseconds(std::stoll(arguments[3]));
  const std::size_t bytes = std::stoul(arguments[4]);
  for (std::uint64_t counter = 0; !g_stop; ++counter) {
    for (int partition = 0; partition < partitions; ++partition) {
      std::string value =
          arguments[2] + ":" + std::to_string(partition) + ":" + std::to_string(counter);
      if (value.size() < bytes) value.append(bytes - value.size(), '.');
      produce(producer.get(), arguments[1].c_str(), partition, "", value);
    }
    std::this_thread::sleep_for(pause);
  }
  rd_kafka_resp_err_t error = rd_kafka_flush(producer.get(), 60'000);
  std::fflush(stdout);
  return error == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : 1;
}

// follow BOOTSTRAP TOPIC GROUP [KEY=VALUE...]: a member of the group, from the start of the topic:
// every record it gets as "PARTITION OFFSET VALUE", until SIGTERM.
int follow(const Arguments& arguments) {
  if (arguments.size() < 3) die("follow BOOTSTRAP TOPIC GROUP [KEY=VALUE...]");
  Settings settings = {{"group.id", arguments[2]},
                       {"auto.offset.reset", "earliest"},
                       {"auto.commit.interval.ms", "200"},
                       {"check.crcs", "true"}};
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    std::size_t equals = arguments[i].find('=');
    settings.emplace_back(arguments[i].substr(0, equals), arguments[i].substr(equals + 1));
  }
  std::signal(SIGTERM, on_signal);
  Handle consumer = make_consumer(arguments[0], settings);
  Partitions topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), arguments[1].c_str(), RD_KAFKA_PARTITION_UA);
  rd_kafka_subscribe(consumer.get(), topics.get());
  while (!g_stop) {
    Message message(rd_kafka_consumer_poll(consumer.get(), 100));
    if (!message) {
      std::fflush(stdout);
      continue;
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      std::fprintf(stderr, "%s: %s\n", rd_kafka_err2name(message->err),
                   rd_kafka_message_errstr(message.get()));
      continue;
    }
    std::printf("%d %lld %.*s\n", message->partition, static_cast<long long>(message->offset),
                name_length(*message), static_cast<const char*>(message->payload));
  }
  rd_kafka_consumer_close(consumer.get());
  std::fflush(stdout);
  return 0;
}

// dump BOOTSTRAP TOPIC [PARTITION...]: every stored record as "PARTITION OFFSET VALUE", from the
// start to the end there was when it began. A partition that answers an error is named on a line "E
// PARTITION NAME" and left.
int dump(const Arguments& arguments) {
  if (arguments.size() < 2) die("dump BOOTSTRAP TOPIC [PARTITION...]");
  Handle consumer = make_consumer(arguments[0], {{"group.id", "dump"},
                                                 {"enable.auto.commit", "false"},
                                                 {"auto.offset.reset", "error"},
                                                 {"check.crcs", "true"},
                                                 {"fetch.wait.max.ms", "50"}});
  std::map<int, std::int64_t> ends;
  Partitions assignment(rd_kafka_topic_partition_list_new(1));
  std::vector<int> wanted;
  for (std::size_t i = 2; i < arguments.size(); ++i) wanted.push_back(std::stoi(arguments[i]));
  if (wanted.empty()) {
    for (int i = 0; i < partition_count(consumer.get(), arguments[1]); ++i) wanted.push_back(i);
  }
  for (int partition : wanted) {
    auto [low, high] = watermarks(consumer.get(), arguments[1], partition);
    if (low == high) continue;
    ends[partition] = high;
    rd_kafka_topic_partition_list_add(assignment.get(), arguments[1].c_str(), partition)->offset =
        low;
  }
  rd_kafka_assign(consumer.get(), assignment.get());
  int silent = 0;
  while (!ends.empty()) {
    Message message(rd_kafka_consumer_poll(consumer.get(), 1000));
    if (!message) {
      if (++silent > 20) die("records do not come");
      continue;
    }
    silent = 0;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      std::printf("E %d %s\n", message->partition, rd_kafka_err2name(message->err));
      if (message->partition >= 0) ends.erase(message->partition);
      continue;
    }
    std::printf("%d %lld %.*s\n", message->partition, static_cast<long long>(message->offset),
                name_length(*message), static_cast<const char*>(message->payload));
    auto end = ends.find(message->partition);
    if (end != ends.end() && message->offset + 1 >= end->second) ends.erase(end);
  }
  return 0;
}

}  // namespace weir::clients

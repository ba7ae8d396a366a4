// What the librdkafka test programs share: handles with owners, configuration, and a clean end with
// a message.
#pragma once
#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::clients {

struct Destroy {
  void operator()(rd_kafka_t* handle) const { rd_kafka_destroy(handle); }
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
};
using Handle = std::unique_ptr<rd_kafka_t, Destroy>;
using Message = std::unique_ptr<rd_kafka_message_t, Destroy>;
using Queue = std::unique_ptr<rd_kafka_queue_t, Destroy>;
using Partitions = std::unique_ptr<rd_kafka_topic_partition_list_t, Destroy>;

// Prints the message and ends the program with 1.
[[noreturn]] void die(const std::string& message);

using Settings = std::vector<std::pair<std::string, std::string>>;
using DeliveryReport = void (*)(rd_kafka_t*, const rd_kafka_message_t*, void*);
using OffsetsReport = void (*)(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*,
                               void*);
// What a consumer tells, with `opaque`.
struct Callbacks {
  OffsetsReport rebalance = nullptr;
  OffsetsReport commit = nullptr;
  void* opaque = nullptr;
};

// A producer whose delivery reports go to `report` with `opaque`.
Handle make_producer(const std::string& bootstrap, const Settings& settings, DeliveryReport report,
                     void* opaque);
Handle make_consumer(const std::string& bootstrap, const Settings& settings,
                     const Callbacks& callbacks = {});

// Queues one record, serving reports while the queue is full. `partition` may be
// RD_KAFKA_PARTITION_UA.
void produce(rd_kafka_t* producer, const char* topic, std::int32_t partition, std::string_view key,
             std::string_view value, void* opaque = nullptr);

// How many partitions the topic has.
int partition_count(rd_kafka_t* handle, const std::string& topic);

// [low, high) of a partition.
std::pair<std::int64_t, std::int64_t> watermarks(rd_kafka_t* handle, const std::string& topic,
                                                 int partition);

// The sub-programs; arguments follow the name of the program.
using Arguments = std::vector<std::string>;
// The KEY=VALUE arguments from the given one on.
Settings settings_from(const Arguments& arguments, std::size_t first);
// From now on SIGTERM and SIGINT only make is_stopped() true.
void stop_on_signal();
bool is_stopped();

int produce_files(const Arguments& arguments);
int verify_files(const Arguments& arguments);
int load(const Arguments& arguments);
int follow(const Arguments& arguments);
int read(const Arguments& arguments);
int dump(const Arguments& arguments);
int bench_produce(const Arguments& arguments);
int bench_consume(const Arguments& arguments);
int paced_produce(const Arguments& arguments);
int paced_consume(const Arguments& arguments);

}  // namespace weir::clients
